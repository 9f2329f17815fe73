"""Sequences of honest runs in one ledger that would let somebody bear more than his lifetime limit.

The gate sees nothing of it: each run on its own is within its budget. What has to stop the last of them is the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from leaks.attempts import Attempt
from leaks.world import World
from pcevolve.errors import BudgetError, DataError, LedgerError
from pcevolve.ledger.ledger import NO_TERMS, Ledger, Paid, PrivateUnit, Terms
from pcevolve.privacy import Event, Relation
from pcevolve.public.release import Query
from support.accounts import budget, images, patients

OVER = "earlier runs already spent epsilon=3"
OVER_6 = "earlier runs already spent epsilon=6"
SIZE = "say with data.unit_size"
INSECURE = "an INSECURE run used these data"
RELATION = "another neighbour relation"
PURE = Event("exponential", "3")
FREE = Event("uniform")


@dataclass(frozen=True)
class Step:
    """One run; the last of a sequence must not get its release.

    Attributes:
        units: On what.
        kind: What a unit is; ``"image"`` for single images.
        event: What it does.
        relation: Neighbour relation; that of the sequence if None.
        terms: See ``Terms``.
    """

    units: Sequence[PrivateUnit]
    kind: str = "image"
    event: Event = PURE
    relation: Relation | None = None
    terms: Terms = NO_TERMS


def on(*digests: bytes, **terms: object) -> Step:
    """A run on single images."""
    return Step(images(*digests), terms=Terms(**terms))


def of(kind: str = "patient", terms: Terms = NO_TERMS, **units: Sequence[bytes]) -> Step:
    """A run on named units."""
    return Step(patients(**units), kind, terms=terms)


def shown(step: Step) -> Step:
    """The same run, but it spends nothing."""
    return Step(step.units, step.kind, FREE, step.relation, step.terms)


def under(step: Step, relation: Relation) -> Step:
    """The same run under another neighbour relation."""
    return Step(step.units, step.kind, step.event, relation, step.terms)


TWO = Terms(unit_size=2)
FIVE = Terms(unit_size=5)
SEEDED = Terms(secure=False)
SEQUENCES: dict[str, tuple[int, Sequence[Step], str]] = {
    "the same image twice": (3, [on(b"1"), on(b"1")], OVER),
    "the same image among others": (3, [on(b"1", b"2"), on(b"2", b"3")], OVER),
    "a patient twice": (3, [of(p=[b"1"]), of(p=[b"1"])], OVER),
    "a patient with new images": (3, [of(p=[b"1"]), of(p=[b"2"])], OVER),
    "a patient with one image more": (3, [of(p=[b"1"]), of(p=[b"1", b"2"])], OVER),
    "a patient under a second name": (3, [of(p=[b"1"]), of(q=[b"1"])], OVER),
    "a patient under the name of another kind": (3, [of(p=[b"1"]), of("case", p=[b"1"])], OVER),
    "a name in capitals of its kind": (3, [of(p=[b"1"]), of("PATIENT", p=[b"2"])], OVER),
    "a name with blanks": (3, [of(p=[b"1"]), Step([PrivateUnit((b"2",), " p ")], "patient")], OVER),
    "two patients who are exchanged": (6, [of(p=[b"1"], q=[b"2"]), of(p=[b"2"], q=[b"1"])], OVER_6),
    "a patient's image on its own": (3, [of(p=[b"1", b"2"]), on(b"2")], OVER),
    "an image and then its patient": (3, [on(b"1"), of(p=[b"1", b"2"])], OVER),
    "a patient's images one by one": (6, [of(p=[b"1", b"2", b"3"]), on(b"1"), on(b"2")], OVER_6),
    "a patient's images one by one, before him": (6, [on(b"1"), on(b"2"), of(p=[b"1", b"2"])], OVER_6),
    "a patient's images at once": (6, [of(p=[b"1", b"2"]), on(b"1", b"2")], OVER),
    "a patient between his images": (6, [on(b"1"), of(p=[b"1", b"2"]), on(b"2")], OVER_6),
    "a patient of two months, by the images of each": (6, [of(p=[b"1"]), of(p=[b"2"]), on(b"1")], OVER_6),
    "new images of a patient whose images were used": (6, [of(p=[b"1"]), on(b"1"), of(p=[b"2"])], OVER_6),
    "an image that a control said is the patient's": (
        3,
        [shown(of(p=[b"1", b"2"])), of(p=[b"1"]), on(b"2")],
        OVER,
    ),
    "wards that cross patients": (6, [of(p=[b"1", b"2"]), of("ward", a=[b"1", b"3"], b=[b"2", b"4"])], OVER),
    "patients within a ward": (6, [of("ward", w=[b"1", b"2"]), of(p=[b"1"], q=[b"2"])], OVER),
    "a ward whose patients were used apart": (
        6,
        [of(p=[b"1"]), of(q=[b"2"]), of("ward", w=[b"1", b"2"])],
        OVER_6,
    ),
    "a patient of one image, with a neighbour of two": (6, [of(terms=TWO, p=[b"1"]), on(b"1")], OVER),
    "an image, with a neighbour of five": (
        9,
        [on(b"1"), of(terms=FIVE, p=[b"1"])],
        "already spent epsilon=15",
    ),
    "a size that an earlier run declared": (9, [of(terms=FIVE, p=[b"1"]), on(b"1")], OVER),
    "a seeded run and then an honest one": (99, [Step(images(b"1"), terms=SEEDED), on(b"1")], INSECURE),
    "a seeded run on the patient": (99, [of(terms=SEEDED, p=[b"1"]), of(p=[b"2"])], INSECURE),
    "a seeded run on the patient's image": (99, [of(terms=SEEDED, p=[b"1", b"2"]), on(b"2")], INSECURE),
    "a seeded run and a promise to the patient": (
        99,
        [Step(images(b"1"), terms=SEEDED), of(p=[b"1"])],
        INSECURE,
    ),
    "a seeded run that one run forgot": (
        99,
        [Step(images(b"1"), terms=SEEDED), on(b"1", forgets_insecure=True), on(b"1")],
        INSECURE,
    ),
}
"""Name → lifetime limit, runs, and what the last of them must be told, under replace-one."""
BOTH = (
    "the same image twice",
    "the same image among others",
    "a patient twice",
    "a patient with new images",
    "a patient with one image more",
    "a name in capitals of its kind",
    "a name with blanks",
)
"""Sequences that add-remove refuses for the same reason, or asks for a declared size first."""
ADDED: dict[str, tuple[int, Sequence[Step], str]] = {
    "a patient by his image, of no declared size": (99, [of(p=[b"1"]), on(b"1")], SIZE),
    "an image by its patient, of no declared size": (99, [on(b"1"), of(p=[b"1"])], SIZE),
    "a new name, of no declared size": (99, [of(p=[b"1"]), of(q=[b"1"])], SIZE),
    "an image of a patient with others": (6, [of(terms=TWO, p=[b"1", b"2"]), on(b"1")], OVER),
    "a crossing patient of a declared size": (
        9,
        [of(terms=TWO, p=[b"1"]), of(terms=TWO, q=[b"1"])],
        OVER + "|epsilon=12",
    ),
    "a size that is too small": (
        99,
        [on(b"1", b"2", b"3"), of(terms=TWO, p=[b"1", b"2"]), of(terms=TWO, p=[b"3"])],
        "larger",
    ),
    "a unit that is larger than declared": (
        99,
        [of(terms=TWO, p=[b"1", b"2", b"3"])],
        "more images than data.unit_size 2",
    ),
    "another relation": (99, [on(b"1"), under(on(b"1"), "replace-one")], RELATION),
    "another relation for the patient": (99, [of(p=[b"1"]), under(of(p=[b"2"]), "replace-one")], RELATION),
    "another relation for an image of the patient": (
        99,
        [of(terms=TWO, p=[b"1", b"2"]), under(on(b"2"), "replace-one")],
        RELATION,
    ),
}
"""The same under add-remove."""


class _StoppedEarlyError(Exception):
    """A run was refused that should have been paid for, so nothing was tried."""


@dataclass(frozen=True)
class Sequenced:
    """Carries out a sequence in a ledger of its own."""

    limit: int
    steps: Sequence[Step]
    relation: Relation

    def __call__(self, world: World) -> None:
        """Raises what the last run is told."""
        with TemporaryDirectory() as folder:
            ledger = Ledger(Path(folder) / "ledger.sqlite")
            for number, step in enumerate(self.steps[:-1]):
                try:
                    self._run(ledger, number, step)
                except BudgetError as error:
                    raise _StoppedEarlyError(str(error)) from error
            self._run(ledger, len(self.steps), self.steps[-1])

    def _run(self, ledger: Ledger, number: int, step: Step) -> None:
        name, limits = f"{number:032x}", budget(9, self.limit)
        relation = step.relation or self.relation
        account = ledger.account(name, step.units, relation, limits, step.kind, step.terms)
        account.require([step.event])
        account.enrol().pay(Query(name, 1), [step.event], lambda: Paid(()))


def _attempt(name: str, case: tuple[int, Sequence[Step], str], relation: Relation) -> Attempt:
    limit, steps, reason = case
    error = (
        DataError
        if "more images than" in reason
        else LedgerError
        if reason in (SIZE, RELATION)
        else BudgetError
    )
    return Attempt(
        "across runs", f"{name}, {relation}", "create-1", Sequenced(limit, steps, relation), reason, error
    )


ATTEMPTS = (
    *(_attempt(name, case, "replace-one") for name, case in SEQUENCES.items()),
    *(_attempt(name, SEQUENCES[name], "add-remove") for name in BOTH),
    *(_attempt(name, case, "add-remove") for name, case in ADDED.items()),
)
