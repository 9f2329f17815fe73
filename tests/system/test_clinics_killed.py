"""A run of three owners and two rounds in which one party's process after the other is killed, at each step."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pcevolve.keeper.clinics.record import find_disagreement
from pcevolve.keeper.ledger.ledger import Ledger
from pcevolve.public.transcript.reader import RunReader
from support.examples import is_nightly
from support.folders import receipts
from support.forkserver import ForkServer
from system.test_apart import _is_begun, children
from system.test_clinics import SECONDS, Clinics, Party, prepare
from system.test_messages import stops

METHOD = ("--method", "pe", "--iterations", "2")
OWNER = (
    "runner consider", "keeper considered", "runner agree", "keeper agreed",
    "runner answer 1.0", "keeper paidanswer 1.0", "runner check",
    "runner answer 2.0", "keeper paidanswer 2.0", "keeper checked",
    "runner finish", "keeper done",
)  # fmt: skip
"""What an owner's processes say to each other, from joining to the end; an answer is sent before what follows it."""
COORDINATOR = (
    "runner begin", "keeper begun", "runner compare",
    "runner ask 1", "keeper asked 1.0", "runner add 1", "keeper released 1", "runner made i001/c000/n000000",
    "runner ask 2", "keeper asked 2.0", "runner add 2", "keeper released 2", "runner made i002/c000/n000000",
    "runner finish", "keeper done",
)  # fmt: skip
GRACE_SECONDS = 3.0
"""In which owners end after their coordinator."""
VICTIMS = ("launcher", "keeper", "runner")
BY_DAY = {
    "owner-1": [
        ("runner consider", "keeper"), ("keeper agreed", "launcher"), ("runner answer 1.0", "runner"),
        ("keeper paidanswer 1.0", "keeper"), ("runner check", "launcher"), ("keeper paidanswer 2.0", "runner"),
    ],
    "coordinator": [
        ("runner begin", "launcher"), ("keeper begun", "runner"), ("keeper asked 1.0", "keeper"),
        ("runner add 1", "launcher"), ("keeper released 1", "runner"), ("runner ask 2", "keeper"),
        ("runner add 2", "runner"), ("runner finish", "launcher"),
    ],
}  # fmt: skip


def list_kills(party: str, victim: str) -> list[tuple[str, str]]:
    """Each message, and which process of its party is killed when it is about to be sent."""
    messages = COORDINATOR if party == "coordinator" else OWNER
    return BY_DAY[party] if victim == "any" else [(each, victim) for each in messages]


@pytest.fixture
def clinics(tmp_path: Path, forks: ForkServer) -> Iterator[Clinics]:
    with prepare(tmp_path, forks) as made:
        yield made


class Cast:
    """All parties at work; whoever has ended is started again."""

    def __init__(self, clinics: Clinics) -> None:
        self._clinics = clinics
        self.parties: dict[str, Party] = {}

    def keep_up(self, party: str = "", message: str = "") -> None:
        """Start whoever is not at work; one party stops at a message."""
        for name in ("coordinator", "owner-0", "owner-1", "owner-2"):
            if name in self.parties and self.parties[name].poll() is None:
                continue
            soon = ("support.stopping:retry_soon", "")
            self._clinics.first[name] = ("support.stopping:stop_at", message) if name == party else soon
            self.parties[name] = self._start(name)

    def _start(self, name: str) -> Party:
        clinics = self._clinics
        if name != "coordinator":
            return clinics.join(int(name[-1]))
        return clinics.go_on() if _is_begun(clinics.folder / "run") else clinics.coordinate(*METHOD)

    def kill(self, party: str, message: str, victim: str) -> bool:
        """Wait until a party is about to send a message, and kill one of its processes; False where it sent none.

        Whoever loses its launcher may still have sent what comes before the next message.
        """
        sender, until = message.split()[0], time.monotonic() + SECONDS
        pids: dict[str, int] = {}
        while not stops(pids.get(sender)):
            assert time.monotonic() < until, f"never came to {message}"
            self.keep_up(party, message)
            if self.parties[party].poll() == 0:
                return False
            with suppress(FileNotFoundError):  # it just ended
                pids = {"launcher": self.parties[party].pid, **children(self.parties[party].pid)}
        os.kill(pids[victim], signal.SIGKILL)
        if sender != victim:
            os.kill(pids[sender], signal.SIGCONT)
        self.parties[party].wait(60)
        return True

    def finish(self) -> None:
        """Go on, now that nobody is killed any more, until all have ended well."""
        self.keep_up()
        until, over = time.monotonic() + SECONDS, None
        while (
            any(codes := {name: each.poll() for name, each in self.parties.items()}.values()) or None in codes
        ):
            assert time.monotonic() < until, codes
            time.sleep(0.05)
            # An owner that was killed when the coordinator had told all of them has to be told again.
            over = (over or time.monotonic()) if self.parties["coordinator"].poll() == 0 else None
            if any(codes) or (over is not None and time.monotonic() > over + GRACE_SECONDS):
                self.keep_up()


@pytest.mark.parametrize("victim", [*VICTIMS, "any"] if is_nightly() else ["any"])
@pytest.mark.parametrize("party", BY_DAY)
def test_whoever_is_killed_at_whatever_step_a_run_ends_whole_and_nobody_pays_twice(clinics, party, victim):
    cast, kills = Cast(clinics), list_kills(party, victim)
    assert sum(cast.kill(party, *each) for each in kills) >= len(kills) - 1
    cast.finish()
    clinics.require_whole()
    assert [each["iteration"] for each in receipts(clinics.folder / "run")] == [1, 2]
    for place in range(3):
        own = clinics.folder / f"owner-{place}"
        assert clinics.count_paid(place) == 2
        assert (
            find_disagreement(RunReader.strict(own / "joined"), Ledger(own / "ledger" / "ledger.sqlite"))
            is None
        )
