"""Three owners in containers of their own and one summed release: who has which files, and who reaches whom."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcevolve.auditing import audit
from support.contained import (
    INTERNET,
    NAME,
    NAMES,
    Stack,
    facts,
    of_the_host,
    project,
    reach,
    require_allowed,
)
from support.tally import Tally

pytestmark = pytest.mark.timeout(5400)

OWNERS = ["north", "east", "south"]
FRONTS = [*OWNERS, "coordinator"]
SECONDS = 120

LIST = """
import hashlib, json, pathlib
files = [each for each in pathlib.Path("/private").rglob("*") if each.is_file()]
print(json.dumps([hashlib.sha256(each.read_bytes()).hexdigest() for each in files]))
"""
# Which of some digests small files of the whole container have.
FIND = """
import hashlib, json, os, sys

wanted, found = set(json.loads(sys.argv[1])), set()
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
    for name in files:
        path = os.path.join(folder, name)
        try:
            if os.path.getsize(path) < 2**17:
                with open(path, "rb") as file:
                    found |= wanted & {hashlib.sha256(file.read()).hexdigest()}
        except OSError:
            continue
print(json.dumps(sorted(found)))
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    for made in project(tmp_path_factory.mktemp("clinics"), "clinics", "--profile", "clinics"):
        small = {**made.environment, "PCEVOLVE_CLINICS_CANDIDATES": "6"}
        yield dataclasses.replace(made, environment=small)


def find_copy(stack: Stack, name: str) -> Path:
    return stack.root / "runs" / "clinics" / name / NAME


@pytest.fixture(scope="module")
def finished(stack: Stack) -> Stack:
    done = stack("up", "coordinator")
    assert done.returncode == 0, done.stdout + done.stderr
    end = time.monotonic() + SECONDS
    while not all((find_copy(stack, name) / "summary.json").exists() for name in FRONTS):
        assert time.monotonic() < end, stack("logs", "--no-color").stdout
        time.sleep(1)
    return stack


@pytest.mark.parametrize("name", FRONTS)
def test_everybody_has_one_release_and_a_record_that_audits(finished: Stack, tally: Tally, name: str) -> None:
    found = audit(find_copy(finished, name))
    tally.add("allowed" if all(each.holds for each in found) else "refused")
    assert [each.claim for each in found if not each.holds] == []
    records = {
        (find_copy(finished, each) / "transcript" / "log.jsonl").read_bytes()
        for each in (name, "coordinator")
    }
    assert len(records) == 1


@pytest.mark.parametrize("name", OWNERS)
def test_an_owners_screen_says_that_containers_keep_its_data_from_the_network(
    finished: Stack, name: str
) -> None:
    said = " ".join(finished("logs", "--no-color", f"{name}-keeper").stdout.split())
    assert f"you are {name}" in said
    assert "private files and the network: enforced by containers" in said
    assert "/state" not in finished("logs", "--no-color", name).stdout


@pytest.mark.parametrize("name", OWNERS)
def test_an_owners_keeper_has_no_interface_but_loopback_and_no_way_out(
    finished: Stack, tally: Tally, listener: int, name: str
) -> None:
    seen = facts(finished, f"{name}-keeper")
    assert seen["interfaces"] == ["lo"]
    assert (seen["capabilities"], seen["no_new_privileges"]) == (0, "1")
    assert seen["writable"] == ["/tmp", "/state", "/door"]
    assert sorted(seen["private"]) == ["images", "own.key"]
    targets = [["api", 8000], ["door", 8440], *INTERNET, *of_the_host(listener)[1:]]
    reach(finished, tally, f"{name}-keeper", None, targets, [*NAMES, "api", "door", name])


@pytest.mark.parametrize("name", FRONTS)
def test_no_front_and_no_coordinator_has_a_file_of_an_owners(
    finished: Stack, tally: Tally, name: str
) -> None:
    own = {each: json.loads(finished.inside(f"{each}-keeper", LIST)) for each in OWNERS}
    assert [len(each) for each in own.values()] == [41, 41, 41]
    files = json.dumps([digest for each in own.values() for digest in each])
    found = json.loads(finished.inside(name, FIND, files))
    tally.add("escaped" if found else "refused")
    assert found == []
    if name in OWNERS:  # the same search finds an owner's own at its keeper, and nobody else's
        assert json.loads(finished.inside(f"{name}-keeper", FIND, files)) == sorted({*own[name]})
    assert facts(finished, name)["private"] is None


@pytest.mark.parametrize("name", OWNERS)
def test_a_front_reaches_neither_the_server_nor_the_world(
    finished: Stack, tally: Tally, listener: int, name: str
) -> None:
    require_allowed(tally, finished("up", "-d", "api"))
    targets = [["api", 8000], [finished.address("api"), 8000], *INTERNET, *of_the_host(listener)]
    reach(finished, tally, name, None, targets, [*NAMES, "api"])


def test_the_coordinator_reaches_the_server_and_not_the_world(
    finished: Stack, tally: Tally, listener: int
) -> None:
    require_allowed(tally, finished("up", "-d", "api"))
    reach(finished, tally, "coordinator", "http://api:8000/readyz", INTERNET + of_the_host(listener))
