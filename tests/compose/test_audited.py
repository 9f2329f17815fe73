"""An auditor in a container between client and server: sees all of the main job; each reaches its neighbour only."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator

import pytest

from pcevolve.auditing.capture import reconcile
from pcevolve.public.transcript.reader import RunReader
from support.contained import (
    INTERNET,
    NAME,
    NAMES,
    SEARCH,
    WRITABLE,
    Stack,
    facts,
    of_the_host,
    project,
    reach,
    require_allowed,
)
from support.tally import Tally

pytestmark = pytest.mark.timeout(5400)


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    yield from project(tmp_path_factory.mktemp("audited"), "audited", "--env-file", "docker/audit.env")


@pytest.fixture(scope="module")
def watched(audited: Stack) -> Stack:
    done = audited.main_job()
    assert done.returncode == 0, done.stdout + done.stderr
    return audited


def test_an_audited_main_job_reconciles_with_what_the_auditor_saw(tally: Tally, watched: Stack) -> None:
    evidence = RunReader.strict(watched.run)
    found = reconcile(evidence, watched.capture)
    tally.add("allowed" if all(each.holds for each in found) else "refused")
    assert [each.faults for each in found] == [()] * 4
    assert [each.checked for each in found][:3] == [evidence.requests] * 3


def test_the_auditors_folder_is_the_owners_and_nobody_elses(watched: Stack) -> None:
    for path, mode in ((watched.capture.parent, 0o700), (watched.capture, 0o600)):
        assert path.stat().st_uid == int(os.environ.get("PCEVOLVE_UID", "1000"))
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_the_documented_command_reconciles(watched: Stack, tally: Tally) -> None:
    mount = f"{watched.capture.parent}:/captures:ro"
    words = ["run", "--rm", "--no-deps", "-T", "-v", mount, "client", "audit", f"/runs/{NAME}"]
    said = json.loads(
        require_allowed(tally, watched(*words, "--capture", f"/captures/{NAME}.jsonl", "--json"))
    )
    assert said["holds"] is True
    assert any("nothing was sent that is not on record" in each["claim"] for each in said["findings"])


def test_an_audited_client_reaches_the_auditor_and_nothing_else(
    watched: Stack, tally: Tally, listener: int
) -> None:
    require_allowed(tally, watched("up", "-d", "api", "auditor"))
    server = [[watched.address("api"), 8000]]
    targets = server + INTERNET + of_the_host(listener)
    reach(watched, tally, "client", "http://auditor:8000/readyz", targets, [*NAMES, "api"])


def test_the_auditor_reaches_the_server_and_nothing_else(watched: Stack, tally: Tally, listener: int) -> None:
    reach(watched, tally, "auditor", "http://api:8000/readyz", INTERNET + of_the_host(listener))


def test_an_audited_server_reaches_nobody(watched: Stack, tally: Tally, listener: int) -> None:
    require_allowed(tally, watched("up", "-d", "auditor"))
    targets = [["auditor", 8000], *INTERNET, *of_the_host(listener)]
    reach(watched, tally, "api", None, targets, [*NAMES, "client", "front"])


def test_the_auditor_is_an_ordinary_user_without_private_data(watched: Stack) -> None:
    seen = facts(watched, "auditor")
    assert seen["user"] >= 1000
    assert (seen["capabilities"], seen["no_new_privileges"]) == (0, "1")
    assert seen["writable"] == WRITABLE["auditor"]
    assert seen["private"] is None
    assert "uv" not in seen["tools"]


@pytest.mark.parametrize("package", ["pcevolve", "pcevolve_server", "pcevolve_shared"])
def test_the_auditors_image_holds_nothing_of_either_side(watched: Stack, package: str) -> None:
    assert watched.inside("auditor", SEARCH, package) == "0"
