"""Promises of the container files, monitoring's among them, read from the files themselves; needs no engine."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from boundary.topology import Topology, variables_of
from pcevolve_server.metrics import Metrics
from pcevolve_server.settings import MIN_KEY_CHARS, Settings

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
SIDES = {"server": "api_server", "client": "client"}
AUDITED = variables_of(ROOT / "docker" / "audit.env")
VARIABLE = re.compile(r"\$\{([A-Z_]+):-([^}]*)\}")
MONITORING = ROOT / "docker" / "monitoring"
MONITORED = yaml.safe_load((MONITORING / "docker-compose.yml").read_text())
DASHBOARD = json.loads((MONITORING / "grafana" / "dashboards" / "pcevolve-server.json").read_text())
ALERTS = yaml.safe_load((MONITORING / "alerts.yml").read_text())
METRIC = re.compile(r"\b(?:pcevolve|process)_[a-z_]+\b")
EXPRESSIONS = [
    *(target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]),
    *(rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]),
]


def mounts(service: str) -> dict[str, str]:
    """Target of every mount to its source, with ``:ro`` behind it if nothing can be written there."""
    found = {}
    for volume in SERVICES[service]["volumes"]:
        if isinstance(volume, str):
            source, target = re.fullmatch(r"(.*):(/[^:]*(?::ro)?)", volume).groups()
            found[target.removesuffix(":ro")] = source + (":ro" if target.endswith(":ro") else "")
        else:
            found[volume["target"]] = volume["source"] + (":ro" if volume.get("read_only") else "")
    return found


def instructions(side: str) -> list[str]:
    """A Dockerfile's instructions, one line each."""
    text = (ROOT / "docker" / f"{side}.Dockerfile").read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def default(text: str) -> str:
    return VARIABLE.sub(lambda match: match[2], text)


KEEPERS = {"keeper": "client", "online-keeper": "online"}
"""Each keeper's client."""
OWNERS = {f"{name}-keeper": name for name in ("north", "east", "south")}
"""The same of each owner among several."""


@pytest.mark.parametrize("service", KEEPERS)
def test_a_keeper_has_the_private_data_and_the_ledger_and_only_reads_data_and_runs(service: str):
    assert mounts(service) == {
        "/private": "${PCEVOLVE_PRIVATE:-./docker/demo}:ro",
        "/runs": "${PCEVOLVE_RUNS:-./runs}:ro",
        "/state": "ledger",
        "/door": "door",
    }


@pytest.mark.parametrize("service", [*KEEPERS, *OWNERS])
def test_a_keeper_has_no_network(service: str):
    its = SERVICES[service]
    assert its["network_mode"] == "none"
    assert not {"networks", "dns", "ports", "environment"} & set(its)


@pytest.mark.parametrize("service", sorted(set(SERVICES) - set(KEEPERS) - set(OWNERS)))
def test_nobody_else_has_the_private_data_or_the_ledger(service: str):
    # What a coordinator remembers of its run is beside where a ledger would be: it has nobody's data to charge for.
    for word in ("PRIVATE", "/private", "ledger", *([] if service == "coordinator" else ["/state"])):
        assert word not in str(SERVICES[service])


@pytest.mark.parametrize(("keeper", "client"), KEEPERS.items())
def test_keeper_and_client_share_runs_and_one_socket_file_and_nothing_else(keeper: str, client: str):
    assert mounts(client) == {"/runs": "${PCEVOLVE_RUNS:-./runs}", "/door": "door:ro"}
    assert "--socket=/door/keeper.sock" in SERVICES[keeper]["command"]
    assert SERVICES[client]["command"] == ["run", "--keeper=/door/keeper.sock"]
    assert SERVICES[client]["user"] == SERVICES[keeper]["user"]
    others = set(SERVICES) - {*KEEPERS, *KEEPERS.values(), *OWNERS, *OWNERS.values()}
    assert [name for name in others if "door" in str(SERVICES[name].get("volumes"))] == []


@pytest.mark.parametrize(("keeper", "name"), OWNERS.items())
def test_an_owners_keeper_and_front_share_a_copy_of_the_record_and_a_socket_file(keeper: str, name: str):
    copy = f"${{PCEVOLVE_RUNS:-./runs}}/clinics/{name}"
    assert mounts(keeper) == {
        "/private": f"{name}:ro",
        "/roster": "roster:ro",
        "/runs": f"{copy}:ro",
        "/state": f"{name}-ledger",
        "/door": f"{name}-door",
    }
    assert mounts(name) == {"/runs": copy, "/door": f"{name}-door:ro"}
    assert "--socket=/door/keeper.sock" in SERVICES[keeper]["command"]
    assert SERVICES[name]["command"] == ["run", "--keeper=/door/keeper.sock"]
    assert SERVICES[name]["environment"] == {}
    assert list(SERVICES[name]["depends_on"]) == ["owners", keeper]


def test_whoever_makes_the_owners_is_the_only_one_with_the_files_of_two_and_has_no_network():
    sources = {
        service: {source.removesuffix(":ro") for source in mounts(service).values()}
        for service in SERVICES
        if SERVICES[service].get("volumes")
    }
    having = {service: found & {*OWNERS.values()} for service, found in sources.items()}
    assert {service: names for service, names in having.items() if names} == {
        "owners": {"north", "east", "south"}, **{keeper: {name} for keeper, name in OWNERS.items()},
    }  # fmt: skip
    assert SERVICES["owners"]["network_mode"] == "none"


def test_fronts_meet_the_coordinator_on_an_internal_network_and_the_server_is_on_another():
    found = Topology.of(TEXT, {"COMPOSE_PROFILES": "clinics"})
    reached = {name: set(its.names) for name, its in found.services.items() if its.names}
    assert reached == {
        "api": {"wire"},
        "client": {"wire"},
        **{name: {"clinics"} for name in OWNERS.values()},
        "coordinator": {"clinics", "wire"},
    }
    assert found.internal == {"clinics": True, "wire": True}
    coordinator = found.services["coordinator"]
    assert [network for network, names in coordinator.names.items() if "door" in names] == ["clinics"]
    assert "--listen=door:8440" in coordinator.command
    assert all("http://door:8440" in found.services[keeper].command for keeper in OWNERS)
    assert coordinator.sysctls == {"net.ipv4.ip_forward": "0"}


def test_an_owner_whom_nobody_can_ask_agrees_to_no_more_than_the_coordinator_was_told():
    epsilon = "${PCEVOLVE_CLINICS_EPSILON:-1}"
    assert f"--epsilon={epsilon}" in SERVICES["coordinator"]["command"]
    assert all(f"--max-epsilon={epsilon}" in SERVICES[keeper]["command"] for keeper in OWNERS)


def test_the_helper_sees_the_folder_of_runs_and_nothing_else():
    assert mounts("folders") == {"/runs": "${PCEVOLVE_RUNS:-./runs}"}


@pytest.mark.parametrize("service", KEEPERS)
def test_no_option_that_another_method_refuses_is_always_given(service: str):
    command = [default(word) for word in SERVICES[service]["command"]]
    assert "--method=auto" in command
    assert "--set=method.iterations=" in command


def test_server_has_no_mount_but_models_read_only():
    assert mounts("api") == {"/models": "${PCEVOLVE_MODELS:-./docker/models}:ro"}


def test_both_sides_meet_on_the_internal_network_only():
    direct = Topology.of(TEXT, {})
    assert {name: set(each.names) for name, each in direct.services.items()} == {
        "api": {"wire"},
        "client": {"wire"},
        "folders": set(),
        "keeper": set(),
    }
    assert direct.internal == {"wire": True}


def test_an_auditor_stands_between_them_on_two_internal_networks():
    audited = Topology.of(TEXT, AUDITED)
    assert {name: set(each.names) for name, each in audited.services.items()} == {
        "api": {"behind"},
        "auditor": {"behind", "wire"},
        "captures": set(),
        "client": {"wire"},
        "folders": set(),
        "keeper": set(),
    }
    assert audited.internal == {"behind": True, "wire": True}


def test_an_audited_client_calls_the_auditor_and_the_auditor_the_server():
    audited = Topology.of(TEXT, AUDITED).services
    assert "--api=http://auditor:8000" in audited["keeper"].command
    assert "--mode=reverse:http://api:8000" in audited["auditor"].command
    assert "--api=http://api:8000" in Topology.of(TEXT, {}).services["keeper"].command


def test_the_auditor_listens_towards_the_client_alone_and_is_no_router():
    auditor = Topology.of(TEXT, AUDITED).services["auditor"]
    listens = [word.partition("=")[2] for word in auditor.command if word.startswith("--listen-host=")]
    assert [network for network, names in auditor.names.items() if listens[0] in names] == ["wire"]
    assert auditor.sysctls == {"net.ipv4.ip_forward": "0"}


def test_the_auditor_writes_where_the_client_cannot():
    assert mounts("auditor") == {"/captures": "${PCEVOLVE_CAPTURES:-./captures}"}
    assert mounts("captures") == mounts("auditor")
    assert "CAPTURES" not in str(SERVICES["client"])
    assert SERVICES["auditor"]["environment"]["PCEVOLVE_AUDITOR_CAPTURE"].startswith("/captures/")


def test_the_auditor_is_told_the_key_that_it_has_to_hide():
    key = SERVICES["auditor"]["environment"]["PCEVOLVE_AUDITOR_KEY"]
    assert key == SERVICES["client"]["environment"]["PCEVOLVE_API_KEY"]


@pytest.mark.parametrize("service", ["folders", "captures", "owners"])
def test_helper_has_no_network(service: str):
    assert SERVICES[service]["network_mode"] == "none"
    assert "networks" not in SERVICES[service]


@pytest.mark.parametrize("service", SERVICES)
def test_no_port_leads_in(service: str):
    assert not {"ports", "expose"} & set(SERVICES[service])


@pytest.mark.parametrize("service", ["api", "auditor", "client", "coordinator", *OWNERS.values()])
def test_names_are_not_looked_up_outside(service: str):
    # Some engines forward lookups even from internal networks (CVE-2024-29018); 192.0.2.0/24 is nowhere (RFC 5737).
    assert SERVICES[service]["dns"] == ["192.0.2.1"]


@pytest.mark.parametrize("service", SERVICES)
def test_every_container_is_confined(service: str):
    its = SERVICES[service]
    assert its["read_only"] is True
    assert its["tmpfs"] == ["/tmp"]
    assert its["cap_drop"] == ["ALL"]
    assert its["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "devices", "pid", "ipc", "userns_mode"} & set(its)


def test_all_but_the_helpers_are_ordinary_users_without_capabilities():
    users = {
        name: default(SERVICES[name]["user"]).split(":") for name in ("api", "auditor", "client", "keeper")
    }
    assert all(int(number) >= 1000 for pair in users.values() for number in pair)
    assert users["api"] != users["client"]
    assert {name: each["cap_add"] for name, each in SERVICES.items() if "cap_add" in each} == {
        "captures": ["CHOWN"],
        "folders": ["CHOWN"],
        "owners": ["CHOWN"],
    }


def test_both_sides_use_one_key_that_the_server_accepts():
    key = SERVICES["api"]["environment"]["PCEVOLVE_SERVER_API_KEY"]
    assert key == SERVICES["client"]["environment"]["PCEVOLVE_API_KEY"]
    assert len(default(key)) >= MIN_KEY_CHARS


def test_no_engine_kills_a_server_that_is_still_within_its_own_deadline():
    assert int(SERVICES["api"]["stop_grace_period"].removesuffix("s")) > Settings().shutdown_seconds
    for path in (ROOT / "docker").rglob("*.yaml"):
        text = path.read_text()
        for given, own, asleep in zip(
            re.findall(r"terminationGracePeriodSeconds: (\d+)", text),
            re.findall(r"pcevolve-server serve .*--shutdown-seconds (\d+)", text),
            re.findall(r'command: \[sleep, "(\d+)"\]', text),
            strict=False,
        ):
            assert int(given) > int(own) + int(asleep), path


def test_ledger_outlives_the_containers():
    assert "ledger" in COMPOSE["volumes"]
    assert any("PCEVOLVE_LEDGER=/state/ledger.sqlite" in line for line in instructions("client"))


def test_keeper_refuses_to_run_where_the_ledgers_folder_is_no_mount():
    text = " ".join(instructions("client"))
    volume = re.search(r"PCEVOLVE_LEDGER_VOLUME=(\S+)", text)
    ledger = re.search(r"PCEVOLVE_LEDGER=(\S+)", text)
    assert volume is not None
    assert ledger is not None
    assert volume[1] in mounts("keeper")
    assert Path(ledger[1]).parent == Path(volume[1])
    assert "environment" not in SERVICES["keeper"], "nothing may turn it off"
    assert not [line for line in instructions("client") if line.startswith("VOLUME")], (
        "docker would make one and drop it"
    )


@pytest.mark.parametrize("side", SIDES)
def test_image_gets_nothing_of_the_other_side(side: str):
    other = next(folder for name, folder in SIDES.items() if name != side)
    package = {"server": "pcevolve", "client": "pcevolve_server"}[side]
    for line in instructions(side):
        if line.startswith("HEALTHCHECK"):  # http.client is Python's
            continue
        assert not re.search(rf"(?<![\w-])({other}|{package})(?![\w-])", line), line
        assert not re.match(r"(ADD|COPY)\s+(--\S+\s+)*\.\s", line), line


@pytest.mark.parametrize("side", SIDES)
def test_last_stage_holds_what_was_installed_and_no_tools(side: str):
    lines = instructions(side)
    last = lines[max(number for number, line in enumerate(lines) if line.startswith("FROM")) :]
    copies = [line.split()[1:] for line in last if line.startswith("COPY")]
    assert copies == [
        ["--from=dependencies", "/opt/venv", "/opt/venv"],
        ["--from=code", "/code", "/opt/venv"],
    ]
    user = next(line.split()[1] for line in last if line.startswith("USER"))
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)


@pytest.mark.parametrize("side", SIDES)
def test_everything_that_is_installed_is_checked_against_a_hash(side: str):
    commands = [part for line in instructions(side) for part in re.split(r"&&|;", line)]
    installs = [part for part in commands if re.search(r"\b(pip install|uv build)\b", part)]
    assert len(installs) == 5
    for install in installs:
        ours = "--no-deps" in install and install.rstrip().endswith("wheels/*.whl")
        assert ours or "--require-hashes" in install, install


def test_the_auditors_image_holds_nothing_of_either_side():
    copied = [line.split()[1:] for line in instructions("auditor") if line.startswith("COPY")]
    assert copied == [
        ["docker/auditor/requirements.txt", "./"],
        ["--from=dependencies", "/opt/auditor", "/opt/auditor"],
        ["docker/auditor/record.py", "/opt/auditor/record.py"],
    ]
    assert "pcevolve" not in " ".join(instructions("auditor"))


def test_the_auditor_is_installed_from_hashes_alone():
    pinned = (ROOT / "docker" / "auditor" / "requirements.txt").read_text().replace("\\\n", " ")
    packages = [line for line in pinned.splitlines() if not line.startswith("#")]
    assert len(packages) > 30
    assert all(re.match(r"[a-z0-9-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line) for line in packages)
    installs = [line for line in instructions("auditor") if "install" in line]
    assert len(installs) == 1
    assert "--no-deps --require-hashes" in installs[0]
    assert "--only-binary :all:" in installs[0]


@pytest.mark.parametrize("side", [*SIDES, "auditor"])
def test_images_start_from_the_public_base_and_name_no_other_host(side: str):
    lines = instructions(side)
    bases = {line.split()[1] for line in lines if line.startswith("FROM")} - {"dependencies"}
    assert bases == {"${PYTHON_IMAGE}"}
    text = " ".join(lines)
    assert "://" not in text
    assert "index" not in text
    # The choices: which build of the base, by its digest, and which extras of our own, which name no place.
    choices = [line for line in lines if line.startswith(("ARG", "ADD"))]
    assert choices == ["ARG PYTHON_IMAGE=python:3.11-slim", *(["ARG EXTRAS="] if side == "server" else [])]


@pytest.mark.parametrize("service", [name for name, its in SERVICES.items() if "build" in its])
def test_one_variable_names_the_base_of_every_image_by_its_digest(service: str):
    base = "${PCEVOLVE_PYTHON_IMAGE:-python:3.11-slim}"
    assert SERVICES[service]["build"]["args"] == {"PYTHON_IMAGE": base}
    assert SERVICES["folders"]["image"] == base


def test_nothing_is_sent_to_the_engine_but_sources_and_pins():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert {rule for rule in rules if rule.startswith("!")} == {
        "!requirements.lock",
        "!docker/uv.txt",
        "!docker/auditor/requirements.txt",
        "!docker/auditor/record.py",
        *(
            f"!{part}/{what}"
            for part in ("shared", "api_server", "client")
            for what in ("pyproject.toml", "src")
        ),
    }


def test_a_gate_stands_between_the_client_and_an_online_endpoint_and_listens_towards_the_client_alone():
    online = Topology.of(TEXT, {"COMPOSE_PROFILES": "online"})
    assert {name: set(online.services[name].names) for name in ("online", "online-keeper", "gate")} == {
        "online": {"wire"},
        "online-keeper": set(),
        "gate": {"outside", "wire"},
    }
    assert (online.internal["wire"], online.internal["outside"]) == (True, False)
    gate = online.services["gate"]
    assert [network for network, names in gate.names.items() if "front" in names] == ["wire"]
    assert "--listen-host=front" in gate.command
    assert "insecure" not in " ".join(gate.command), "its certificate is verified"
    assert gate.sysctls == {"net.ipv4.ip_forward": "0"}
    assert "--api=http://gate:8000" in online.services["online-keeper"].command


@pytest.mark.parametrize(("limit", "code"), [("", 2), ("5", 0)])
def test_the_client_of_an_online_endpoint_asks_for_a_limit_of_cost_before_anything_else(
    tmp_path: Path, limit: str, code: int
):
    service = SERVICES["online"]
    words = [each.replace("$$", "$") for each in service["entrypoint"]]
    stand_in = tmp_path / "pcevolve"
    stand_in.write_text('#!/bin/sh\necho "$@"\n')
    stand_in.chmod(0o755)
    found = subprocess.run(
        [*words, "run", "--domain=two words"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "MOST": limit},
        capture_output=True,
        text=True,
    )
    assert found.returncode == code
    assert found.stdout == ("run --domain=two words\n" if limit else "")
    assert limit or "set PCEVOLVE_MAX_COST" in found.stderr
    assert service["environment"]["MOST"] == "${PCEVOLVE_MAX_COST:-}"
    assert "--set=provider.max_cost=${PCEVOLVE_MAX_COST:-}" in SERVICES["online-keeper"]["command"]


@pytest.fixture(scope="module")
def metrics():
    """Names of all samples of a server that has done everything once."""
    found = Metrics()
    found.requests.labels("/v1/models", 200).inc()
    found.latency.labels("/v1/models").observe(1)
    for stage in ("wait", "encode", "denoise", "decode", "write"):
        found.stages.labels(stage).observe(1)
    return {sample.name for family in found.registry.collect() for sample in family.samples}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_metric_that_is_asked_for_exists(metrics, expression):
    asked = set(METRIC.findall(expression))
    assert asked <= metrics
    assert asked or "up{" in expression


def test_what_is_mounted_is_there_and_nothing_but_loopback_listens():
    for service in MONITORED["services"].values():
        binds = [each for each in service["volumes"] if isinstance(each, dict) and "$" not in each["source"]]
        assert all((MONITORING / bind["source"]).exists() and bind["read_only"] for bind in binds)
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_the_scraper_has_the_servers_key_and_no_file_has_one():
    services = MONITORED["services"]
    key = services["api"]["environment"]["PCEVOLVE_SERVER_API_KEY"]
    assert key.startswith("${PCEVOLVE_API_KEY:?")
    assert services["prometheus"]["environment"]["KEY"] == key
    job = yaml.safe_load((MONITORING / "prometheus.yml").read_text())["scrape_configs"][0]
    assert job["authorization"]["credentials_file"] in "".join(services["prometheus"]["command"])
    assert job["static_configs"][0]["targets"] == ["api:8000"]
