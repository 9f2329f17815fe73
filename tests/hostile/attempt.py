"""A run of the real client against a provider that misbehaves, judged from all sides, and then resumed honestly."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from hostile.launcher import Ended
from hostile.provider import Act, Bystander, HostileProvider, Moment
from hostile.verdict import (
    broken,
    find_lost,
    find_unrecorded,
    list_paid,
    list_recorded,
    misbehaviour,
    strangers,
)
from pcevolve.public.release import Receipt
from pcevolve.public.transcript.layout import LOG
from support.tally import Tally
from support.typed import spell_words

TALLY = Tally("hostile", ("tried", "survived", "crashed", "leaked"))
MESSAGES = {
    "terminal commands": "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e",
    "markup": "[/red] [link=http://evil.example]your key[/link] [bold",
    "lines": "fine\r\nerror: epsilon 0 spent\nerror: all is well",
}
"""What a provider may say to do harm to whoever reads it."""
LIMIT_SECONDS = 100.0
RESUME_SECONDS = 200.0


@dataclass(frozen=True)
class Case:
    """One way to misbehave, and how the client has to end.

    Attributes:
        name: Of the test.
        moment: When the provider misbehaves.
        act: How.
        code: The exit code that is due; 0 where the run has to carry on regardless.
        says: What the complaint has to say.
        times: How often it misbehaves; None: always.
        greet: What it sends before it has read anything.
        loses: Whether requests may be on record that the provider never read.
        options: Changes to the command.
        over: Whether what is on record leaves nothing to choose: before a payment the run can come to no end, and after
            it ends there, with what was chosen so far.
    """

    name: str
    moment: Moment
    act: Act | None
    code: int = 6
    says: str = ""
    times: int | None = None
    greet: bytes = b""
    loses: bool = False
    options: tuple[tuple[str, object], ...] = ()
    over: bool = False

    def __str__(self) -> str:
        """For pytest."""
        return f"{self.name} at {self.moment}"


Launch = Callable[[list[object], float], Ended]


@dataclass
class Attempt:
    """Tries a case: all that a provider can do to a run, and all that must hold afterwards.

    Attributes:
        resumed: Records, with their options, that were resumed: one that is like another is not resumed again.
    """

    root: Path
    private: Path
    key: Path
    provider: HostileProvider
    bystander: Bystander
    launch: Launch
    baseline: int
    own: Mapping[str, object] = field(default_factory=dict)
    resumed: set[object] = field(default_factory=set)

    def __call__(self, case: Case) -> Ended:
        """Misbehave, judge, be honest, resume, judge again; counted before it is asserted."""
        run, leaks, faults = self.root / "run", [], []
        is_paid = case.over and case.moment == "variation"
        if is_paid:
            case = replace(case, code=0, over=False)
        ledger = self.root / "ledger" / "ledger.sqlite"
        shutil.rmtree(run, ignore_errors=True)
        shutil.rmtree(ledger.parent, ignore_errors=True)
        calls = self.bystander.calls
        self.provider.arm(case.moment, case.act, case.times, case.greet)
        command = self.command(**dict(case.options))
        ended = self.launch(command, LIMIT_SECONDS)
        log = run / "transcript" / LOG
        sent, lines = list_recorded(run), log.read_bytes() if log.exists() else b""
        leaks += find_unrecorded(self.provider.heard, sent, not case.loses)
        leaks += strangers(ended, self.provider.port, self.bystander.calls - calls)
        faults += misbehaviour(ended, [case.code], case.says, self.baseline)
        if is_paid and not re.search(f"({case.says}).*what was chosen so far is released", str(ended.stderr)):
            faults.append(f"it does not say why it ends: {ended.stderr[-600:]!r}")
        before = list_paid(ledger)
        self.provider.arm(None, None)
        is_known = ended.code != 0 and not case.over and self._is_known(case, lines)
        if case.over:
            faults += self._find_faults_of_second_try(command, case, sent, before)
        elif ended.code != 0 and not is_known:
            resumed = self._resume(command)
            faults += [f"resumed: {each}" for each in misbehaviour(resumed, [0], "", self.baseline)]
            again = list_recorded(run)
            new = again[len(sent) :] if lines and log.read_bytes().startswith(lines) else again
            leaks += find_unrecorded(self.provider.heard, new, all_arrived=True)
            leaks += strangers(resumed, self.provider.port, self.bystander.calls - calls)
        if case.over:
            faults += ["a dataset was released"] if (run / "release").exists() else []
        elif is_known:
            faults += broken(run) if lines else []
        elif (run / "summary.json").exists():
            faults += [*find_lost(run, before, list_paid(ledger)), *broken(run)]
        else:
            faults.append("the run never came to its end")
        TALLY.add("leaked" if leaks else "crashed" if faults else "survived")
        if leaks or faults:
            pytest.fail("; ".join(f"{case}: {each}" for each in (*leaks, *faults)), pytrace=False)
        return ended

    def _is_known(self, case: Case, lines: bytes) -> bool:
        """True if a run was resumed whose record said the same: a run that goes on knows no more than that."""
        events = [json.loads(line)["event"] for line in lines.splitlines()]
        said = json.dumps(events).replace(events[0]["run_id"], "") if events else ""
        known = (case.options, said) in self.resumed
        self.resumed.add((case.options, said))
        return known

    def _resume(self, command: list[object]) -> Ended:
        longer = ["--set", "provider.timeout=30", "--set", "provider.patience=20"]
        return self.launch([*command, "--resume", self.root / "run", *longer], RESUME_SECONDS)

    def _find_faults_of_second_try(
        self, command: list[object], case: Case, sent: Sequence[bytes], before: Sequence[Receipt]
    ) -> Iterator[str]:
        """List faults of a second try to go on where nothing is left to choose: it says the same, at no cost."""
        run = self.root / "run"
        again = self._resume(command)
        yield from (f"resumed: {each}" for each in misbehaviour(again, [case.code], case.says, self.baseline))
        if list_recorded(run) != list(sent):
            yield "resumed: something was sent"
        if list_paid(self.root / "ledger" / "ledger.sqlite") != list(before):
            yield "resumed: something was paid for"
        if before:
            yield f"{len(before)} receipts were paid for, and there was nothing to choose"
        yield from broken(run)

    def command(self, **changes: object) -> list[object]:
        """A small run: two classes, two candidates each, one round of variation; with this suite's own options."""
        options: dict[str, object] = {
            "private": self.private,
            "domain": "handwritten mark",
            "out": self.root / "run",
            "ledger": self.root / "ledger" / "ledger.sqlite",
            "api": f"http://127.0.0.1:{self.provider.port}",
            "api_key_file": self.key,
            "method": "pcevolve",
            "shots": 3,
            "candidates": 2,
            "iterations": 1,
            "batch": 2,
            "seed": 11,
            "timeout": 20,
            "patience": 0.5,
            "first_contact": 0.5,
            "pad_selection": 0,
        }
        return ["run", "--yes", *spell_words(**options | dict(self.own) | changes)]
