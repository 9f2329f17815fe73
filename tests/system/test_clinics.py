"""Several owners and a coordinator, each the installed command: a whole run, and the death of any of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pcevolve.auditing import audit
from pcevolve.keeper.ledger.history import LedgerBook
from support import online
from support.clinics import make_clinics, make_key, write_roster
from support.folders import class_folders, receipts
from support.forkserver import ForkServer, Started

COMMAND = Path(sys.executable).with_name("pcevolve")
SECONDS = 120
LABELS = ["type A", "type B"]


Party = subprocess.Popen[bytes] | Started


@dataclass
class Clinics:
    """Three owners, each in a folder of its own, and a coordinator; every call is the installed command.

    Attributes:
        forks: What starts the commands instead, each a process of its own as well.
        scheme: Of the coordinator's address.
        environment: What the next commands have in theirs beside what is usual.
        first: With ``forks``, what a party's next command does before it begins; see ``Job``.
    """

    folder: Path
    api: str
    port: int
    started: list[Party] = field(default_factory=list)
    forks: ForkServer | None = None
    first: dict[str, tuple[str, str]] = field(default_factory=dict)
    scheme: str = "http"
    environment: dict[str, str] = field(default_factory=dict)

    def coordinate(self, *more: str) -> Party:
        words = [
            "run", "--clinics", "roster.toml", "--listen", f"127.0.0.1:{self.port}", "--domain", "scratch",
            "--epsilon", "5", "--candidates", "2", "--api", self.api, "--dialect", "a1111", "--model", "v1-5",
            "--out", "run", "--set", "provider.size=16", "--set", "provider.patience=0",
            "--set", "privacy.ledger=coordinator/ledger.sqlite", "--set", "privacy.delta=1e-5", "--yes",
            "--method", "dp-means", "--encoder", "bundled", *more,
        ]  # fmt: skip
        return self._start("coordinator", words)

    def go_on(self) -> Party:
        words = ["run", "--resume", "run", "--listen", f"127.0.0.1:{self.port}"]
        return self._start(
            "coordinator", [*words, "--set", "privacy.ledger=coordinator/ledger.sqlite", "--yes"]
        )

    def join(self, place: int, *more: str) -> Party:
        own = f"owner-{place}"
        words = [
            "join", f"{self.scheme}://127.0.0.1:{self.port}", "--private", f"{own}/private", "--roster", "roster.toml",
            "--key", f"{own}/own.key", "--out", f"{own}/joined", "--ledger", f"{own}/ledger/ledger.sqlite", "--yes",
            "--max-epsilon", "5", *more,
        ]  # fmt: skip
        return self._start(own, words)

    def join_apart(self, place: int, *more: str) -> tuple[Party, Party]:
        """An owner who is two commands: one keeps the data, the other has the network."""
        door = f"owner-{place}/door/keeper.sock"
        return (
            self.join(place, "--socket", door, *more),
            self._start(f"front-{place}", ["run", "--keeper", door]),
        )

    def _start(self, name: str, words: list[str]) -> Party:
        path, own = self.folder / f"{name}.log", {"XDG_STATE_HOME": str(self.folder / "state")}
        environment = {**os.environ, **own, "PCEVOLVE_API_KEY": online.LOGIN, **self.environment}
        started: Party
        if self.forks is not None:
            first = self.first.pop(name, ())
            started = self.forks.start(words, environment, (path, path), self.folder, first, append=True)
        else:
            log = path.open("ab")
            started = subprocess.Popen(
                [COMMAND, *words], cwd=self.folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment
            )  # fmt: skip
        self.started.append(started)
        return started

    def read(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return " ".join(path.read_text().split()) if path.exists() else ""

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not is_so():
            assert time.monotonic() < end, [self.read(each) for each in ("coordinator", "owner-0")]
            time.sleep(0.05)

    def count_paid(self, place: int) -> int:
        path = self.folder / f"owner-{place}" / "ledger" / "ledger.sqlite"
        if not path.exists():
            return 0
        ledger = LedgerBook(path)
        try:
            return sum(row.draws for row in ledger.runs())
        finally:
            ledger.close()

    def require_whole(self) -> None:
        """Every copy is the coordinator's record, holds, and every access was paid for once."""
        record = (self.folder / "run" / "transcript" / "log.jsonl").read_bytes()
        assert [each.claim for each in audit(self.folder / "run") if not each.holds] == []
        for place in range(3):
            copy = self.folder / f"owner-{place}" / "joined"
            assert (copy / "transcript" / "log.jsonl").read_bytes() == record
            assert [each.claim for each in audit(copy) if not each.holds] == []
            assert self.count_paid(place) == sum(event["count"] for each in receipts(copy) for event in each["events"]
                                                 if event["mechanism"] == "gaussian")  # fmt: skip


@contextmanager
def prepare(folder: Path, forks: ForkServer | None = None) -> Iterator[Clinics]:
    """Keys, data and a roster of three owners, an API and a free port; what was started ends with it."""
    server = online.LocalServer(online.a1111)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    owners = make_clinics(3, shots=3)
    write_roster(folder / "roster.toml", owners, LABELS)
    for place in range(3):
        class_folders(folder / f"owner-{place}" / "private", place + 1)
        make_key(place + 1).save(folder / f"owner-{place}" / "own.key")
    made = Clinics(folder, server.address, port, forks=forks)
    yield made
    for each in made.started:
        if each.poll() is None:
            each.kill()
        each.wait()
    server.close()


@pytest.fixture
def clinics(tmp_path: Path) -> Iterator[Clinics]:
    with prepare(tmp_path) as made:
        yield made


def end(*started: Party) -> list[int]:
    return [each.wait(SECONDS) for each in started]


def test_three_owners_and_a_coordinator_make_one_release_that_all_have_and_can_audit(clinics):
    coordinator = clinics.coordinate()
    owners = [clinics.join(place) for place in range(3)]
    assert end(coordinator, *owners) == [0, 0, 0, 0], clinics.read("coordinator") + clinics.read("owner-0")
    clinics.require_whole()
    told = clinics.read("owner-1")
    assert "you are Clinic 2" in told
    assert "coordinator and 1 of the other owners" in told
    assert "trust nobody" in told
    heard = clinics.read("coordinator")
    assert "Clinic 1 agrees" in heard
    assert (clinics.folder / "owner-2" / "joined" / "report.html").exists()
    assert json.loads((clinics.folder / "run" / "summary.json").read_text())[
        "epsilon_spent"
    ] == pytest.approx(5)


def test_an_owner_of_two_commands_takes_part_as_one_of_one_does(clinics):
    coordinator = clinics.coordinate()
    owners = [each for place in range(2) for each in clinics.join_apart(place, "--require-confinement")]
    owners.append(clinics.join(2))
    assert end(coordinator, *owners) == [0] * 6, clinics.read("front-0") + clinics.read("owner-0")
    clinics.require_whole()
    assert "you are Clinic 1" in clinics.read("owner-0")
    assert "private files and the network: enforced by the kernel" in clinics.read("owner-0")
    assert not any(word in clinics.read("front-0") for word in ("you are", "ledger", "private/"))


def test_at_a_door_the_keeper_asks_its_own_person_and_no_front_can_agree(clinics):
    clinics.coordinate()
    keeper, front = clinics.join_apart(0)
    for each in (keeper, front):
        each.kill()
        each.wait()
    words = [each for each in keeper.args if each != "--yes"]
    keeper = clinics._start("owner-0", words[1:])
    front = clinics._start("front-0", front.args[1:])
    assert end(keeper, front) == [2, 0], clinics.read("owner-0") + clinics.read("front-0")
    assert "nobody can agree" in clinics.read("owner-0")
    clinics.wait_for(lambda: "owner Clinic 1 does not agree" in clinics.read("coordinator"))
    assert clinics.count_paid(0) == 0


def test_an_owner_that_was_killed_is_waited_for_and_pays_nothing_twice(clinics):
    coordinator = clinics.coordinate()
    owners = [clinics.join(place) for place in range(3)]
    clinics.wait_for(lambda: clinics.count_paid(1) > 0)
    owners[1].send_signal(signal.SIGKILL)
    owners[1].wait()
    owners[1] = clinics.join(1)
    assert end(coordinator, *owners) == [0, 0, 0, 0], clinics.read("coordinator") + clinics.read("owner-1")
    clinics.require_whole()


def test_a_coordinator_that_was_killed_goes_on_where_it_was_and_owners_wait_for_it(clinics):
    coordinator = clinics.coordinate()
    owners = [clinics.join(place) for place in range(3)]
    clinics.wait_for(lambda: clinics.count_paid(1) > 0)
    coordinator.send_signal(signal.SIGKILL)
    coordinator.wait()
    assert end(clinics.go_on(), *owners) == [0, 0, 0, 0], clinics.read("coordinator") + clinics.read(
        "owner-1"
    )
    clinics.require_whole()


def test_an_owner_whose_data_are_others_is_told_why_and_the_coordinator_no_more_than_that(clinics):
    shutil.move(
        clinics.folder / "owner-1" / "private" / "type B", clinics.folder / "owner-1" / "private" / "secret C"
    )
    coordinator = clinics.coordinate()
    owners = [clinics.join(place) for place in range(2)]
    assert end(coordinator, owners[1]) == [2, 3]
    assert "classes differ from the roster's" in clinics.read("owner-1")
    assert "owner Clinic 2 cannot use its data" in clinics.read("coordinator")
    assert "secret" not in clinics.read("coordinator")
    assert clinics.count_paid(0) == clinics.count_paid(1) == 0


def test_an_owner_of_another_roster_is_not_let_in_and_the_run_waits(clinics):
    other = clinics.folder / "other"
    other.mkdir()
    write_roster(other / "roster.toml", make_clinics(3, colluding=2, shots=3), LABELS)
    clinics.coordinate()
    clinics.wait_for(lambda: "waiting for 3 owners" in clinics.read("coordinator"))
    assert end(clinics.join(0, "--roster", "other/roster.toml")) == [2]
    for name in ("owner-0", "coordinator"):
        assert "another roster than this owner" in clinics.read(name)
    assert clinics.count_paid(0) == 0


def test_nobody_is_asked_by_a_command_that_nobody_can_answer(clinics):
    clinics.coordinate()
    own = clinics.join(0)
    own.kill()
    own.wait()
    words = [each for each in own.args if each != "--yes"]
    environment = {**os.environ, "XDG_STATE_HOME": str(clinics.folder / "state")}
    asked = subprocess.run(
        words, cwd=clinics.folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS, env=environment,
        check=False,
    )  # fmt: skip
    assert asked.returncode == 2
    assert b"nobody can agree" in asked.stderr
    assert clinics.count_paid(0) == 0
