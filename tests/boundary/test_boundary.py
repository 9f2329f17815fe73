"""Who reaches whom when an auditor stands between client and API server, and that its capture tells the truth."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from boundary.namespaces import Lab
from boundary.stage import AUDITED, COMPOSE, DECOY, PORT, REACH, TALLY, Listener, Stage
from boundary.topology import Topology
from pcevolve.auditing import audit
from pcevolve.auditing.capture import reconcile
from pcevolve.public.transcript.reader import RunReader

pytestmark = pytest.mark.timeout(300)

Attempt = list[object]
INTERNET: list[Attempt] = [
    ["tcp", "1.1.1.1", 443],
    ["tcp", "8.8.8.8", 53],
    ["tcp", "2606:4700:4700::1111", 443],
]
NAMES: list[Attempt] = [
    ["name", "python.org", 443],
    ["udp", "192.0.2.1", 53],
    ["udp", "8.8.8.8", 53],
    ["udp", "2001:4860:4860::8888", 53],
]


def require_refused(outcomes: list[bool], attempts: list[Any]):
    """Count attempts that must get nowhere."""
    assert len(outcomes) == len(attempts)
    for reached in outcomes:
        TALLY.add("escaped" if reached else "refused")
    assert [attempt for attempt, reached in zip(attempts, outcomes, strict=True) if reached] == []


def try_to_reach(stage: Stage, service: str, attempts: list[Attempt]):
    require_refused(stage.python(service, REACH, json.dumps(attempts)), attempts)


def require_allowed(outcome: bool, why: str):
    """Count what has to work; if it does not, the suite fails but nothing escaped."""
    TALLY.add("allowed" if outcome else "refused")
    assert outcome, why


def link_local(stage: Stage, service: str) -> str:
    shown = json.loads(stage.lab.run(service, "ip", "-j", "-6", "addr", "show", "dev", "eth0").stdout)
    return next(info["local"] for info in shown[0]["addr_info"] if info["scope"] == "link")


def at(stage: Stage, service: str, network: str, *ports: int) -> list[Attempt]:
    return [
        ["tcp", stage.lab.address(service, network, version), port] for version in (4, 6) for port in ports
    ]


def test_client_does_not_reach_the_server_directly(stage: Stage):
    attempts = at(stage, "api", "behind", PORT, DECOY)
    attempts += [["name", "api", PORT], ["tcp", f"{link_local(stage, 'api')}%eth0", DECOY]]
    try_to_reach(stage, "client", attempts + at(stage, "auditor", "behind", PORT))


def test_keeper_has_nothing_but_loopback_and_reaches_nobody(stage: Stage):
    shown = json.loads(stage.lab.run("keeper", "ip", "-j", "link", "show", "up").stdout)
    assert [each["ifname"] for each in shown] == ["lo"]
    attempts = at(stage, "api", "behind", PORT, DECOY) + at(stage, "client", "wire", DECOY)
    attempts += [["name", name, PORT] for name in ("api", "auditor", "client")]
    try_to_reach(stage, "keeper", attempts + at(stage, "auditor", "wire", PORT))


def test_server_reaches_neither_client_nor_auditor(stage: Stage):
    attempts = at(stage, "client", "wire", DECOY)
    attempts += [["name", "client", DECOY], ["tcp", f"{link_local(stage, 'client')}%eth0", DECOY]]
    try_to_reach(
        stage, "api", attempts + at(stage, "auditor", "behind", PORT) + at(stage, "auditor", "wire", PORT)
    )


@pytest.mark.parametrize("service", ["client", "auditor", "api", "keeper"])
def test_nobody_reaches_the_internet_or_looks_up_its_names(stage: Stage, service: str):
    try_to_reach(stage, service, INTERNET + NAMES)


@pytest.mark.parametrize("service", ["client", "auditor", "api", "keeper"])
def test_nobody_reaches_the_host(stage: Stage, service: str, host: Listener):
    gateways = [stage.lab.gateway(network, v) for network in stage.lab.topology.internal for v in (4, 6)]
    try_to_reach(
        stage, service, [["tcp", each, host.port] for each in [*host.addresses, *gateways, "172.17.0.1"]]
    )
    assert host.reached == []


ROUTE = """
import json, subprocess, sys
print(json.dumps([subprocess.run(["ip", *words], capture_output=True).returncode == 0
                  for words in json.loads(sys.argv[1])]))
"""


def roads(stage: Stage, far: str, near: str) -> list[list[str]]:
    """Routes to a network by way of the auditor."""
    return [
        [f"-{v}", "route", "add", str(stage.lab.net(far, v)), "via", stage.lab.address("auditor", near, v)]
        for v in (4, 6)
    ]


@pytest.fixture
def laid(stage: Stage) -> Iterator[None]:
    """Root lays routes both ways, as no container could."""
    ways = [("client", words) for words in roads(stage, "behind", "wire")]
    ways += [("api", words) for words in roads(stage, "wire", "behind")]
    for service, words in ways:
        done = stage.lab.run(service, "ip", *words, confined=False)
        assert done.returncode == 0, done.stderr
    yield
    for service, (version, _, _, net, *_) in ways:
        stage.lab.run(service, "ip", version, "route", "del", net, confined=False)


def test_a_container_cannot_lay_a_route(stage: Stage):
    words = roads(stage, "behind", "wire")
    require_refused(stage.python("client", ROUTE, json.dumps(words)), words)


def test_the_auditor_forwards_nothing_even_if_there_were_a_route(stage: Stage, laid: None):
    try_to_reach(stage, "client", at(stage, "api", "behind", PORT, DECOY))
    try_to_reach(stage, "api", at(stage, "client", "wire", DECOY))


SCAN = """
import json, socket, sys

def is_open(family, host, port):
    with socket.socket(family) as probe:
        probe.settimeout(2)
        return probe.connect_ex((host, port)) == 0

four, six, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
print(json.dumps([
    [version, port]
    for version, family, host in ((4, socket.AF_INET, four), (6, socket.AF_INET6, six))
    for port in range(first, last) if is_open(family, host, port)
]))
"""


def test_no_port_of_the_auditor_is_open_but_one(stage: Stage):
    hosts = [stage.lab.address("auditor", "wire", version) for version in (4, 6)]
    found = stage.python("client", SCAN, *hosts, 1, 65536)
    TALLY.add("refused" if found == [[4, PORT]] else "escaped")
    assert found == [[4, PORT]]


TALK = """
import json, socket, sys

def said(data):
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20) as talk:
        talk.settimeout(3)
        talk.sendall(data.encode("latin-1"))
        got = b""
        try:
            while more := talk.recv(65536):
                got += more
        except OSError:
            pass
        return got.decode("latin-1")

print(json.dumps([said(each) for each in json.loads(sys.argv[3])]))
"""


def talk(stage: Stage, *requests: str) -> list[str]:
    """Send raw bytes from the client's place to the auditor."""
    return stage.python("client", TALK, "auditor", PORT, json.dumps(requests))


def new_lines(stage: Stage, before: bytes) -> bytes:
    after = stage.capture.read_bytes()
    assert after.startswith(before)
    return after[len(before) :]


def test_the_auditor_is_no_open_proxy(stage: Stage, host: Listener):
    """Whatever a client asks for, the bytes go to the one API server or nowhere."""
    server = stage.lab.address("api", "behind")
    others = [
        f"{server}:{DECOY}",
        f"{stage.lab.address('client', 'wire')}:{DECOY}",
        f"{host.addresses[0]}:{host.port}",
    ]
    asked = [f"CONNECT {other} HTTP/1.1\r\nHost: {other}\r\n\r\n" for other in others]
    asked += [
        f"GET http://{other}/ HTTP/1.1\r\nHost: {other}\r\nConnection: close\r\n\r\n" for other in others
    ]
    asked += ["\x05\x01\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "secret secret secret\r\n\r\n"]
    answers = talk(stage, *asked)
    silent = [log.read_text().count("reached from") == 0 for log in stage.decoys] + [host.reached == []]
    reached = [answer.startswith("HTTP/1.1 2") for answer in answers]
    require_refused([each or not all(silent) for each in reached], asked)


@pytest.fixture(scope="module")
def run(stage: Stage) -> Any:
    """The main job in the client's place, by way of the auditor; then the capture as it was."""
    before = stage.capture.read_bytes()
    strayed = {service: stage.strays(service) for service in ("client", "api")}
    done = stage.main_job()
    done.strayed = {service: stage.strays(service) - count for service, count in strayed.items()}
    opened = before.splitlines(keepends=True)[0]
    (stage.root / "honest.jsonl").write_bytes(opened + new_lines(stage, before))
    return done


def folder_of(stage: Stage) -> Path:
    return stage.root / "runs" / "audited"


def test_a_whole_run_works_through_the_auditor(stage: Stage, run: Any):
    require_allowed(run.returncode == 0, run.stderr)
    assert [each.faults for each in audit(folder_of(stage)) if not each.holds] == []


def test_nothing_in_a_whole_run_asks_for_a_name_or_tries_another_address(stage: Stage, run: Any):
    """The kernel counts, so a library of machine code that calls home is counted too."""
    before = stage.strays("client")
    stage.python("client", REACH, json.dumps([["tcp", "1.1.1.1", 443], ["name", "python.org", 443]]))
    assert stage.strays("client") >= before + 2, "the kernel would not have counted"
    for count in run.strayed.values():
        TALLY.add("escaped" if count else "refused")
    assert run.strayed == {"client": 0, "api": 0}


def faults(stage: Stage, capture: bytes, folder: Path | None = None) -> list[str]:
    path = stage.root / "examined.jsonl"
    path.write_bytes(capture)
    found = reconcile(RunReader.strict(folder or folder_of(stage)), path)
    return [fault for each in found for fault in each.faults]


def test_its_capture_reconciles_with_the_transcript(stage: Stage, run: Any):
    honest = (stage.root / "honest.jsonl").read_bytes()
    found = faults(stage, honest)
    require_allowed(found == [], str(found))
    assert honest.count(b'"event":"request"') == RunReader.strict(folder_of(stage)).requests > 4
    assert stage.environment("client")["PCEVOLVE_API_KEY"].encode() not in honest


def last_on_record(stage: Stage) -> dict[str, Any]:
    """The captured request that is the last on record: of those under way at once, another may have arrived last."""
    wanted = RunReader.strict(folder_of(stage)).traffic.attempts[-1].sent.body.sha256
    lines = [json.loads(line) for line in (stage.root / "honest.jsonl").read_bytes().splitlines()]
    (found,) = (
        line
        for line in lines
        if line["event"] == "request"
        if hashlib.sha256(base64.b64decode(line["body"]["base64"])).hexdigest() == wanted
    )
    return found


def as_sent(stage: Stage, request: dict[str, Any]) -> str:
    """The bytes of a recorded request."""
    key = f"Bearer {stage.environment('client')['PCEVOLVE_API_KEY']}"
    lines = [f"{name}: {key if name == 'Authorization' else value}\r\n" for name, value in request["headers"]]
    body = base64.b64decode(request["body"]["base64"]).decode()
    return f"{request['method']} {request['target']} HTTP/1.1\r\n{''.join(lines)}\r\n{body}"


TAMPERED = {
    "an extra request": (
        "GET /v1/models HTTP/1.1\r\nHost: auditor:8000\r\n\r\n",
        "was sent and is not on record",
    ),
    "another path": ("GET /v1/stable-diffusion/c2VjcmV0 HTTP/1.1\r\nHost: x\r\n\r\n", "is not on record"),
    "a request that breaks off": (
        "POST /v1/models HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nsecret",
        "is not on record",
    ),
    "a tunnel": ("CONNECT api:22 HTTP/1.1\r\nHost: api:22\r\n\r\n", "is not on record"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_else_is_sent_from_the_clients_place_is_told(stage: Stage, run: Any, name: str):
    data, message = TAMPERED[name]
    require_told(stage, data, message)


def require_told(stage: Stage, data: str, message: str):
    """One thing is sent that is not on record; the comparison has to say so, and only that."""
    before = stage.capture.read_bytes()
    talk(stage, data)
    found = faults(stage, (stage.root / "honest.jsonl").read_bytes() + new_lines(stage, before))
    TALLY.add("refused" if found else "escaped")
    assert len(found) == 1
    assert message in found[0]


def test_a_recorded_request_that_is_sent_again_is_told(stage: Stage, run: Any):
    require_told(stage, as_sent(stage, last_on_record(stage)), "was sent 2 times, and is on record 1 times")


LEAKY = """
from dataclasses import replace
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.running import run

honest = HttpTransport.send

def leaky(self, request):
    return honest(self, replace(request, headers=(*request.headers, ("X-Leak", "secret"))))

HttpTransport.send = leaky
"""
LEAKS = """
import sys
from pcevolve.app.session import orders
orders.RUNNER = "leaky:run"
sys.argv[0] = "pcevolve"
from pcevolve.app.cli.commands import app
app()
"""


def test_a_client_that_lies_about_its_headers_is_told(
    stage: Stage, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "leaky.py").write_text(LEAKY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    before = stage.capture.read_bytes()
    told = [word.replace("/audited", "/leaky") for word in stage.command("keeper")]
    words = [word for word in told if "iterations=" not in word]  # this method has no rounds
    words += ["--method", "t2i", "--candidates", "2"]
    words += ["--set", f"privacy.ledger={stage.root / 'leaky' / 'ledger.sqlite'}"]
    done = stage.main_job(*words, program=[sys.executable, "-c", LEAKS])
    assert done.returncode == 0, done.stderr
    folder = stage.root / "runs" / "leaky"
    assert all(each.holds for each in audit(folder))  # its own record is spotless
    opened = before.splitlines(keepends=True)[0]
    found = faults(stage, opened + new_lines(stage, before), folder)
    TALLY.add("refused" if len(found) == RunReader.strict(folder).requests else "escaped")
    assert len(found) == RunReader.strict(folder).requests
    assert all(each.endswith("header 'X-Leak'") for each in found)


def test_no_decoy_was_ever_reached(stage: Stage, host: Listener, run: Any):
    assert [log.read_text() for log in stage.decoys] == ["listening\n"] * 2
    assert host.reached == []


LOOSE = {
    "a client on both networks": ("networks: [wire]", "networks: [wire, behind]"),
    "a network that is not internal": ("internal: true", "internal: false"),
    "an auditor that forwards": ("ip_forward: 0", "ip_forward: 1"),
}


@contextmanager
def loose(name: str, variables: dict[str, str], root: Path) -> Iterator[Stage]:
    """The topology with one promise broken, and nothing in it but a listener in the server's place.

    What holds back the attempts above is the topology: here they succeed.
    """
    assert LOOSE[name][0] in COMPOSE
    with Lab(Topology.of(COMPOSE.replace(*LOOSE[name]), variables), f"pcb{os.getpid()}x") as lab:
        stage = Stage(lab, root)
        stage.start_decoy("api")
        yield stage


def reaches(stage: Stage, attempt: Attempt) -> bool:
    return stage.python("client", REACH, json.dumps([attempt])) == [True]


def test_a_client_on_both_networks_would_reach_the_server(namespaces: None, tmp_path: Path):
    with loose("a client on both networks", AUDITED, tmp_path) as stage:
        assert all(reaches(stage, attempt) for attempt in at(stage, "api", "behind", DECOY))


def test_by_way_of_an_auditor_that_forwards_the_client_would_reach_the_server(
    namespaces: None, tmp_path: Path
):
    with loose("an auditor that forwards", AUDITED, tmp_path) as stage:
        for service, (words, _) in (
            ("client", roads(stage, "behind", "wire")),
            ("api", roads(stage, "wire", "behind")),
        ):
            stage.lab.run(service, "ip", *words, confined=False)
        assert reaches(stage, ["tcp", stage.lab.address("api", "behind"), DECOY])


def test_on_a_network_that_is_not_internal_the_host_would_be_reached(
    namespaces: None, tmp_path: Path, host: Listener
):
    with loose("a network that is not internal", {}, tmp_path) as stage:
        assert reaches(stage, ["tcp", stage.lab.gateway("wire"), host.port])
    assert len(host.reached) == 1
