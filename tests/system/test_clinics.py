"""Several owners and a coordinator: once the installed commands, and what stops them before a run in forks of them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pcevolve.auditing import audit
from pcevolve.keeper.ledger.history import LedgerBook
from support import online
from support.certificates import self_signed
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

    def join(self, place: int, *more: str, agrees: bool = True) -> Party:
        own = f"owner-{place}"
        words = [
            "join", f"{self.scheme}://127.0.0.1:{self.port}", "--private", f"{own}/private", "--roster", "roster.toml",
            "--key", f"{own}/own.key", "--out", f"{own}/joined", "--ledger", f"{own}/ledger/ledger.sqlite",
            "--max-epsilon", "5", *["--yes"] * agrees, *more,
        ]  # fmt: skip
        return self._start(own, words)

    def join_apart(self, place: int, *more: str, agrees: bool = True) -> tuple[Party, Party]:
        """An owner who is two commands: one keeps the data, the other has the network."""
        door = f"owner-{place}/door/keeper.sock"
        return (
            self.join(place, "--socket", door, *more, agrees=agrees),
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
            return sum(row.count for row in ledger.history())
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


A_YEAR_OFF = """
import datetime, time

_now, _ns, _year = time.time, time.time_ns, 366 * 86400

class _Late(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(_now() + _year, tz)

time.time, time.time_ns, datetime.datetime = lambda: _now() + _year, lambda: _ns() + _year * 10**9, _Late
"""
"""OpenSSL asks the kernel for the time itself, so this is for all that Python does."""


@pytest.fixture
def clinics(tmp_path: Path, forks: ForkServer) -> Iterator[Clinics]:
    with prepare(tmp_path, forks) as made:
        yield made


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Clinics]:
    with prepare(tmp_path) as made:
        yield made


def end(*started: Party) -> list[int]:
    return [each.wait(SECONDS) for each in started]


def certify(clinics: Clinics, *more: str, **options: Any) -> Party:
    """A coordinator with a certificate in ``tls``, and another certificate in ``other``."""
    clinics.scheme = "https"
    for name in ("tls", "other"):
        (clinics.folder / name).mkdir()
        self_signed(clinics.folder / name, **options)
    return clinics.coordinate("--certificate", "tls/cert.pem", "--certificate-key", "tls/key.pem", *more)


def read_beginning(clinics: Clinics, place: int) -> float:
    """When an owner's only run began, by its ledger."""
    with closing(LedgerBook(clinics.folder / f"owner-{place}" / "ledger" / "ledger.sqlite")) as ledger:
        return float(ledger.runs()[0].began)


def test_confined_owners_of_one_command_or_two_and_with_any_clock_make_one_release_that_all_can_audit(
    installed: Clinics,
):
    clinics = installed
    coordinator = certify(clinics, "--require-confinement")
    trusting = ["--ca-file", "tls/cert.pem", "--require-confinement"]
    owners = [*clinics.join_apart(0, *trusting), clinics.join(1, *trusting)]
    (clinics.folder / "late").mkdir()
    (clinics.folder / "late" / "sitecustomize.py").write_text(A_YEAR_OFF)
    clinics.environment = {"PYTHONPATH": str(clinics.folder / "late")}
    owners.append(clinics.join(2, *trusting))
    assert end(coordinator, *owners) == [0] * 5, clinics.read("coordinator") + clinics.read("owner-2")
    clinics.require_whole()
    assert 365 < (read_beginning(clinics, 2) - read_beginning(clinics, 1)) / 86400 < 367
    told = clinics.read("owner-1")
    assert "you are Clinic 2" in told
    assert "coordinator and 1 of the other owners" in told
    assert "trust nobody" in told
    assert "sent the facts that you joined and agreed, and 2 answers of" in told
    assert "you are Clinic 1" in clinics.read("owner-0")
    assert "private files and the network: enforced by the kernel" in clinics.read("owner-0")
    assert not any(word in clinics.read("front-0") for word in ("you are", "ledger", "private/"))
    assert "Clinic 1 agrees" in clinics.read("coordinator")
    assert (clinics.folder / "owner-2" / "joined" / "report.html").exists()
    summary = json.loads((clinics.folder / "run" / "summary.json").read_text())
    assert summary["epsilon_spent"] == pytest.approx(5)


@pytest.mark.parametrize(
    ("host", "begins", "trusted", "said", "heard"),
    [
        ("127.0.0.1", -1, "other", "the certificate is not trusted: give --ca-file FILE", "join with --ca-file"),
        ("127.0.0.2", -1, "tls", "the certificate is another host's", "is for a different host name"),
        ("127.0.0.1", -400, "tls", "the certificate is out of date: by this machine's clock", "correct the clock"),
    ],
)  # fmt: skip
def test_a_certificate_that_is_wrong_is_one_sentence_on_both_screens(
    clinics, host, begins, trusted, said, heard
):
    certify(clinics, address=host, begins=begins)
    owner = clinics.join(0, "--ca-file", f"{trusted}/cert.pem")
    assert end(owner) == [2]
    assert [said in each for each in clinics.read("owner-0").split("error: ")[1:]] == [True]
    clinics.wait_for(lambda: "somebody could not join" in clinics.read("coordinator"))
    assert heard in clinics.read("coordinator")
    assert clinics.count_paid(0) == 0


def test_at_a_door_the_keeper_asks_its_own_person_and_no_front_can_agree(clinics):
    clinics.coordinate()
    keeper, front = clinics.join_apart(0, agrees=False)
    assert end(keeper, front) == [2, 0], clinics.read("owner-0") + clinics.read("front-0")
    assert "agreeing to the plan needs a terminal" in clinics.read("owner-0")
    clinics.wait_for(lambda: "owner Clinic 1 does not agree" in clinics.read("coordinator"))
    assert clinics.count_paid(0) == 0


def test_nobody_is_asked_by_a_command_that_nobody_can_answer(clinics):
    clinics.coordinate()
    assert end(clinics.join(0, agrees=False)) == [2]
    assert "agreeing to the plan needs a terminal" in clinics.read("owner-0")
    assert clinics.count_paid(0) == 0
