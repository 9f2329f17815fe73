"""Client and server in containers: what the images hold, what each side can reach, and the main job from nothing."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.public.parts import Confinement
from pcevolve.public.transcript.reader import RunReader
from support.contained import (
    INTERNET,
    NAME,
    NAMES,
    ROOT,
    SAME,
    SEARCH,
    SMALL,
    WRITABLE,
    Stack,
    facts,
    of_the_host,
    project,
    reach,
    require_allowed,
    show_spent,
)
from support.tally import Tally

pytestmark = pytest.mark.timeout(5400)

OTHERS = {"api": "pcevolve", "client": "pcevolve_server"}
KINDS = {"type 1", "type 2", "type 3", "type 4"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    yield from project(tmp_path_factory.mktemp("docker"), "test")


@pytest.fixture(scope="module")
def finished(stack: Stack) -> Path:
    done = stack.main_job()
    assert done.returncode == 0, done.stdout + done.stderr
    return stack.run


def test_main_job_runs_from_nothing_and_leaves_a_run(finished: Path) -> None:
    summary = json.loads((finished / "summary.json").read_text())
    assert summary["images_released"] == 4 * int(SMALL["PCEVOLVE_CANDIDATES"])
    assert 0 < summary["epsilon_spent"] <= summary["epsilon_budget"]
    assert (finished / "report.html").stat().st_size > 0
    assert {path.name for path in (finished / "release").iterdir() if path.is_dir()} >= KINDS
    assert (finished / "transcript").is_dir()


def test_run_belongs_to_the_client_and_holds_nothing_private(finished: Path) -> None:
    assert finished.stat().st_uid == int(os.environ.get("PCEVOLVE_UID", "1000"))
    assert not {path.name for path in finished.iterdir()} & {"private", "options.json"}


def test_the_record_says_that_containers_kept_both_apart_and_the_audit_repeats_it(
    stack: Stack, tally: Tally, finished: Path
) -> None:
    plan = RunReader.strict(finished).require_plan()
    tally.add("allowed" if plan.confinement == Confinement(by="containers") else "refused")
    assert plan.confinement == Confinement(by="containers")
    assert "enforced by containers" in (finished / "release" / "README.md").read_text()
    done = stack("run", "--rm", "--no-deps", "-T", "client", "audit", f"/runs/{NAME}", "--json")
    assert json.loads(require_allowed(tally, done))["claims"]["confinement"]["by"] == "containers"


def test_what_the_owner_alone_may_know_is_said_by_the_keeper_and_not_by_the_client(
    stack: Stack, finished: Path
) -> None:
    said = {name: stack("logs", "--no-color", name).stdout for name in ("keeper", "client")}
    assert "ledger " in said["keeper"]
    assert "enforced by containers" in said["keeper"]
    assert "/state" not in said["client"]
    assert "/private" not in said["client"]


def test_audit_in_a_container_holds(stack: Stack, tally: Tally, finished: Path) -> None:
    done = stack("run", "--rm", "--no-deps", "-T", "client", "audit", f"/runs/{NAME}", "--json")
    assert json.loads(require_allowed(tally, done))["holds"] is True


def test_second_up_spends_nothing_more(stack: Stack, tally: Tally, finished: Path) -> None:
    before = show_spent(stack)
    require_allowed(tally, stack.main_job())
    assert show_spent(stack) == before


@pytest.mark.parametrize("service", [*OTHERS, "keeper"])
def test_container_is_an_ordinary_user_who_can_write_only_where_it_must(stack: Stack, service: str) -> None:
    seen = facts(stack, service)
    assert seen["user"] >= 1000
    assert seen["capabilities"] == 0
    assert seen["no_new_privileges"] == "1"
    assert seen["writable"] == WRITABLE[service]


def test_only_the_keeper_sees_private_images_and_the_ledger(
    stack: Stack, tally: Tally, finished: Path
) -> None:
    found = {service: facts(stack, service) for service in ("api", "client", "keeper")}
    assert set(found["keeper"]["private"]) >= KINDS
    assert "ledger.sqlite" in found["keeper"]["ledger"]
    for service in ("api", "client"):
        assert found[service]["private"] is None
        tally.add("escaped" if found[service]["ledger"] else "refused")
        assert not found[service]["ledger"]


def test_no_file_of_the_machine_but_runs_and_the_sockets_folder_is_in_the_clients_container(
    stack: Stack, tally: Tally, finished: Path
) -> None:
    picture = next((ROOT / "docker" / "demo" / "type 1").glob("*.png")).read_bytes()
    counts = {
        service: stack.inside(service, SAME, hashlib.sha256(picture).hexdigest())
        for service in ("client", "keeper")
    }
    tally.add("refused" if counts["client"] == "0" else "escaped")
    assert counts == {"client": "0", "keeper": "1"}


def test_keeper_has_no_interface_but_loopback_and_no_way_to_the_wire(
    stack: Stack, tally: Tally, listener: int, finished: Path
) -> None:
    require_allowed(tally, stack("up", "-d", "api"))
    assert facts(stack, "keeper")["interfaces"] == ["lo"]
    targets = [["api", 8000], [stack.address("api"), 8000], *INTERNET, *of_the_host(listener)[1:]]
    reach(stack, tally, "keeper", None, targets, [*NAMES, "api", "client"])


@pytest.mark.parametrize("service", OTHERS)
def test_image_holds_nothing_of_the_other_side(stack: Stack, service: str) -> None:
    assert stack.inside(service, SEARCH, OTHERS[service]) == "0"
    assert stack.inside(service, SEARCH, OTHERS[service].replace("_", "-")) == "0"
    assert stack.inside(service, SEARCH, "pcevolve_shared") != "0"


@pytest.mark.parametrize("service", OTHERS)
def test_image_holds_no_build_tools_of_ours(stack: Stack, service: str) -> None:
    assert "uv" not in facts(stack, service)["tools"]
    assert stack.inside(service, SEARCH, "requirements.lock") == "0"


def test_client_reaches_the_server_and_nothing_else(stack: Stack, tally: Tally, listener: int) -> None:
    require_allowed(tally, stack("up", "-d", "api"))
    reach(stack, tally, "client", "http://api:8000/readyz", INTERNET + of_the_host(listener))


def test_no_auditor_starts_unless_it_is_asked_for(stack: Stack, finished: Path) -> None:
    mine = f"label=com.docker.compose.project={stack.command[-1]}"
    listed = subprocess.run(
        ["docker", "ps", "-a", "--filter", mine, "--format", '{{.Label "com.docker.compose.service"}}'],
        capture_output=True,
        text=True,
    )
    assert set(listed.stdout.split()) == {"api", "client", "folders", "keeper"}
