"""Attackers inside the processes of an installed command: system calls, files and other processes get them nowhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pcevolve.public.processes.confinement import find_enforcement
from support import intruder
from support.folders import class_folders
from system.test_apart import Api, Typed

NUMBERS = intruder.read_headers(os.uname().machine)
CAN_BE_ATTACKED = NUMBERS is not None and find_enforcement().is_whole
IS_ATTACKED = pytest.mark.skipif(
    not CAN_BE_ATTACKED, reason="no headers of the kernel are installed, or it confines nobody"
)


def plant(patch: pytest.MonkeyPatch, roles: dict[str, dict[str, object]]) -> None:
    """Have an attacker act inside processes of a command; see ``support/attacker``."""
    for role, orders in roles.items():
        orders.setdefault("kind", role)
        orders["found"] = str(Path(str(orders["found"])) / f"found-{role}.json")
    patch.setenv("PLANTED", json.dumps({"roles": roles, "numbers": NUMBERS}))
    attacker = Path(intruder.__file__).parent / "attacker"
    paths = [str(attacker), str(attacker.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    patch.setenv("PYTHONPATH", os.pathsep.join(paths))


def read_found(roles: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """What each attacker got past, of more than 150 system calls and of all ways to other processes."""
    found = {role: json.loads(Path(str(each["found"])).read_text()) for role, each in roles.items()}
    for each in found.values():
        assert each.pop("tried") >= 150
        assert each.pop("past") == []
    # The launcher may end its children, and nobody else's.
    told = {role: {each.split()[0] for each in each.pop("others")} for role, each in found.items()}
    assert told.pop("launcher") <= {"signal"}
    assert not any(told.values()), told
    return found


@dataclass(frozen=True)
class Paths:
    """Of a run: what is private, and what is not; and what is nobody's business."""

    folder: Path

    @property
    def private(self) -> list[str]:
        return [f"{self.folder}/private", str(next((self.folder / "private" / "cut").iterdir()))]

    @property
    def ledger(self) -> list[str]:
        return [f"{self.folder}/own", f"{self.folder}/own/ledger.sqlite"]

    @property
    def elsewhere(self) -> list[str]:
        others = [str(self.folder), "/tmp", str(Path.home()), f"{self.folder}/.ssh", f"{self.folder}/.ssh/id"]
        files = ["/etc/passwd", "/etc/shadow", f"/proc/{os.getpid()}/environ"]
        return [*others, *files, f"{self.folder}/other", f"{self.folder}/other/log.jsonl"]

    def lay_out(self) -> None:
        """Make what is nobody's business: a key, and another run."""
        for each in (".ssh/id", "other/log.jsonl"):
            (self.folder / each).parent.mkdir()
            (self.folder / each).write_text("private")

    def of(self, *runs: str) -> list[str]:
        found = [f"{self.folder}/{each}{more}" for each in runs for more in ("", "/transcript/log.jsonl")]
        return [*self.private, *self.ledger, *found, *self.elsewhere]


@pytest.fixture(scope="module")
def attacked(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Typed, dict[str, dict[str, object]]]]:
    """A run with an attacker in each of its processes, and what each got at."""
    api, at = Api(), Paths(tmp_path_factory.mktemp("attacked"))
    class_folders(at.folder / "private", 1, ("cut", "good"))
    typed, run = Typed(at.folder, api), f"{at.folder}/run"
    roles: dict[str, dict[str, object]] = {
        "launcher": {"module": "pcevolve.app.cli.summary", "kind": "offline", "found": f"{at.folder}/own"},
        "keeper": {"module": "pcevolve.public.encoders.bundled", "found": f"{at.folder}/own"},
        "runner": {"module": "pcevolve.wire.showing", "found": run},
    }
    at.lay_out()
    for each in roles.values():
        each["paths"] = at.of("run")
    with pytest.MonkeyPatch.context() as patch:
        plant(patch, roles)
        code, _, said = typed(*typed.words())
    assert code == 0, said
    found = read_found(roles)
    Path(run, "found-runner.json").unlink()  # an audit finds it
    yield typed, found
    api.server.close()


@IS_ATTACKED
def test_attackers_in_each_process_of_a_run_get_past_nothing(attacked):
    typed, found = attacked
    at, run = Paths(typed.folder), f"{typed.folder}/run"
    (image, ledger), log = (at.private[1], at.ledger[1]), f"{run}/transcript/log.jsonl"
    assert found["launcher"] == {
        "read": [ledger, log],
        "listed": [at.private[0], at.ledger[0], run],
        "written": [*at.ledger, run, log],
    }
    # When these two began, there was no ledger, and no record.
    assert found["keeper"] == {
        "read": [image],
        "listed": [at.private[0], at.ledger[0], run],
        "written": [at.ledger[0]],
    }
    assert found["runner"] == {"read": [], "listed": [run], "written": [run]}


@IS_ATTACKED
def test_attackers_in_a_run_from_a_release_get_past_nothing(attacked, monkeypatch):
    typed, _ = attacked
    at = Paths(typed.folder)
    run, more = f"{at.folder}/run", f"{at.folder}/more"
    logs = [f"{each}/transcript/log.jsonl" for each in (run, more)]
    roles: dict[str, dict[str, object]] = {
        "launcher": {"module": "pcevolve.app.cli.summary", "kind": "offline", "found": more},
        "runner": {"module": "pcevolve.wire.providers.a1111", "found": more},
    }
    for each in roles.values():
        each["paths"] = at.of("run", "more")
    plant(monkeypatch, roles)
    code, _, said = typed("run", "--from", "run", "--out", "more", "--candidates", "4", "--yes")
    assert code == 0, said
    found = read_found(roles)
    assert found["launcher"] == {"read": logs, "listed": [run, more], "written": [more, logs[1]]}
    assert found["runner"] == {"read": [logs[0]], "listed": [run, more], "written": [more]}


READERS: dict[str, tuple[str, list[str]]] = {
    "status --ledger own/ledger.sqlite": ("pcevolve.keeper.ledger.history", ["ledger", "log"]),
    "check private": ("pcevolve.keeper.check", ["image"]),
    "check private --set data.unit_map=own/ledger.sqlite": ("pcevolve.keeper.check", ["image", "ledger"]),
    "classify run private/cut": ("pcevolve.auditing.rerun", ["image", "ledger", "log"]),
    "compare run": ("pcevolve.keeper.finished.comparison", ["ledger", "log"]),
    "evaluate run --test private": ("pcevolve.keeper.finished.evaluating", ["image", "ledger", "log"]),
    "evaluate run --test digits": ("pcevolve.keeper.finished.evaluating", ["ledger", "log"]),
    "report run": ("pcevolve.public.pages.report.page", ["log"]),
}
"""By command, a module that it imports when it knows its files, and of these what can be read."""


@IS_ATTACKED
def test_attackers_in_commands_that_read_private_files_reach_none_that_was_not_given(attacked, monkeypatch):
    typed, _ = attacked
    at = Paths(typed.folder)
    (at.folder / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", f"{at.folder}/temporary")
    named = {"image": at.private[1], "ledger": at.ledger[1], "log": f"{at.folder}/run/transcript/log.jsonl"}
    for command, (module, readable) in READERS.items():
        found = f"{at.folder}/temporary/pcevolve-{os.getuid()}"
        roles: dict[str, dict[str, object]] = {
            "launcher": {"module": module, "kind": "offline", "found": found, "paths": at.of("run")}
        }
        with monkeypatch.context() as patch:
            plant(patch, roles)
            _, _, said = typed(*command.split())
        seen = read_found(roles)["launcher"]
        assert seen["read"] == [named[each] for each in readable], (command, said)
        assert {*seen["listed"], *seen["written"]}.isdisjoint(at.elsewhere), command
        assert {*seen["written"]}.isdisjoint(at.private), command
