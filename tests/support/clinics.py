"""Owners for tests: the same keys for the same number."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from rich.console import Console

from pcevolve.app.session.preflight import check_run
from pcevolve.keeper.clinics.coordinator import Coordinator
from pcevolve.keeper.clinics.keys import OwnerKey
from pcevolve.keeper.clinics.owner import Owner, OwnOptions
from pcevolve.keeper.padding import Padding
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.clinics import messages
from pcevolve.public.clinics.answers import Exchange, Question, SignedAnswer
from pcevolve.public.clinics.owners import ClinicOwner, Clinics
from pcevolve.public.config.config import RunConfig
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.checked import CheckedRun
from pcevolve.public.run.progress import Audience
from pcevolve.wire.clinics.coordinating import AddingJudge
from pcevolve.wire.execution import carry_out
from pcevolve.wire.reaching import RunnerJob
from support.folders import class_folders
from support.online import LOGIN


def make_key(number: int) -> OwnerKey:
    halves = [hashlib.sha256(f"{kind} {number}".encode()).digest() for kind in ("signing", "agreement")]
    return OwnerKey(
        Ed25519PrivateKey.from_private_bytes(halves[0]), X25519PrivateKey.from_private_bytes(halves[1])
    )


def make_clinics(owners: int, colluding: int = 1, holders: int = 1, shots: int = 10) -> Clinics:
    named = (
        ClinicOwner(name=f"Clinic {number}", shots=shots, key=make_key(number).public)
        for number in range(1, owners + 1)
    )
    return Clinics(owners=tuple(named), colluding=colluding, holders=holders)


def write_roster(path: Path, clinics: Clinics, classes: list[str]) -> Path:
    """A roster file of some owners."""
    lines = [
        f"classes = {classes!r}",
        f"colluding = {clinics.colluding}",
        f"holders = {clinics.holders}",
    ]
    for each in clinics.owners:
        lines += ["[[owner]]", f'name = "{each.name}"', f"shots = {each.shots}", f'key = "{each.key}"']
    path.write_text("\n".join(lines) + "\n")
    return path


@dataclass
class OnePerson:
    """Whoever agrees to a plan for an owner, or does not."""

    agrees: bool = True
    asked: int = 0

    def ask(self) -> None:
        self.asked += 1

    def is_given(self) -> bool:
        return self.agrees and self.asked > 0


@dataclass
class Together:
    """A coordinator and its owners in one process, with one folder for all: no network lies between them.

    Attributes:
        owners: Those who answer, by their places; a test may exchange one.
        most: The owners' ``--max-epsilon``.
        meddle: Changes what owners answered, before it is added up.
    """

    run: CheckedRun
    clinics: Clinics
    folder: Path
    private: str = "private"
    owners: dict[int, Owner] = field(default_factory=dict)
    person: OnePerson = field(default_factory=OnePerson)
    most: Fraction | None = None
    meddle: Callable[[Question, tuple[SignedAnswer, ...]], tuple[SignedAnswer, ...]] = lambda _, answers: (
        answers
    )

    def make_judge(self, keeper: Any, head: Callable[[], str]) -> AddingJudge:
        return AddingJudge(keeper, head, side=keeper, gather=self.gather)

    def wait(self, plan: PublicPlan) -> None:
        for place in range(len(self.clinics.owners)):
            self.owners[place] = self.make_owner(place)
            considered = self.owners[place].consider(messages.Consider())
            self.owners[place].agree(messages.Agree(plan=considered.plan))

    def make_owner(self, place: int) -> Owner:
        own = self.folder / f"owner-{place}"
        options = OwnOptions(
            str(own / self.private), self.folder / "roster.toml", own / "own.key", self.run.folder.root,
            own / "ledger" / "ledger.sqlite", most=self.most,
        )  # fmt: skip
        owner = Owner(options, OwnerScreen(quiet=True), self.person)
        owner._padding.sleep = lambda _: None
        return owner

    def gather(self, question: Question, before: Sequence[Exchange]) -> tuple[SignedAnswer, ...]:
        asked = messages.Answer(question=question, before=tuple(before))
        answers = tuple(self.owners[place].answer(asked).answer for place in sorted(self.owners))
        return self.meddle(question, answers)

    def carry_out(self) -> dict[str, Any]:
        keeper = Coordinator(self.run, OwnerScreen(quiet=True))
        keeper._padding = Padding(0.0)
        audience = Audience(Console(quiet=True))
        try:
            with self.run.folder.claim(resume=True):
                job = RunnerJob(self.run.settings.public(), self.run.folder, self.run.key)
                return carry_out(job, keeper, audience, self)[2]
        finally:
            keeper.close()
            for each in self.owners.values():
                each.close()


def bring_together(
    folder: Path,
    api: str,
    owners: int = 3,
    shots: int = 3,
    *,
    is_new: bool = True,
    key: str = LOGIN,
    **options: Any,
) -> Together:
    """Owners with images of their own in two classes, and a coordinator's run."""
    clinics = make_clinics(owners, shots=shots)
    folder.mkdir(exist_ok=True)
    write_roster(folder / "roster.toml", clinics, ["type A", "type B"])
    for place in range(owners if is_new else 0):
        own = folder / f"owner-{place}"
        class_folders(own / "private", place + 1, shots=shots)
        make_key(place + 1).save(own / "own.key")
    given = {
        "private": f"owners:{folder / 'roster.toml'}", "domain": "scratch", "shots": owners * shots,
        "method": "dp-means", "delta": 1e-5, "candidates": 2, "epsilon": "5", "api": api, "dialect": "a1111",
        "model": "v1-5", "out": folder / "run", "ledger": folder / "coordinator" / "ledger.sqlite", "size": 16,
        "seed": 7, "patience": 0, "encoder": "bundled", "yes": True, **options,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    return Together(check_run(RunConfig.of(given), key=key), clinics, folder)
