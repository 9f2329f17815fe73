"""Sequences of honest runs in one ledger that would let somebody bear more than his lifetime limit.

The gate sees nothing of it: each run on its own is within its budget. What has to stop the last of them is the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from leaks.attempts import Act, Attempt
from leaks.world import World
from pcevolve.errors import BudgetError, DataError, LedgerError
from pcevolve.keeper.ledger.ledger import NO_TERMS, Ledger, Paid, PrivateUnit, Terms
from pcevolve.public.privacy import Budget, Event, Relation
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


def _digests(letters: str) -> list[bytes]:
    """One for each letter."""
    return [each.encode() for each in letters]


def on(letters: str, **terms: object) -> Step:
    """A run on single images."""
    return Step(images(*_digests(letters)), terms=Terms(**terms))


def of(kind: str = "patient", terms: Terms = NO_TERMS, **units: str) -> Step:
    """A run on named units."""
    return Step(patients(**{name: _digests(letters) for name, letters in units.items()}), kind, terms=terms)


def under_replacement(step: Step) -> Step:
    """The run under replace-one, the other neighbour relation."""
    return replace(step, relation="replace-one")


TWO = Terms(unit_size=2)
FIVE = Terms(unit_size=5)
SEEDED = Terms(secure=False)
SEQUENCES: dict[str, tuple[int, Sequence[Step], str]] = {
    "the same image twice": (3, [on("1"), on("1")], OVER),
    "the same image among others": (3, [on("12"), on("23")], OVER),
    "a patient twice": (3, [of(p="1"), of(p="1")], OVER),
    "a patient with new images": (3, [of(p="1"), of(p="2")], OVER),
    "a patient with one image more": (3, [of(p="1"), of(p="12")], OVER),
    "a patient under a second name": (3, [of(p="1"), of(q="1")], OVER),
    "a patient under the name of another kind": (3, [of(p="1"), of("case", p="1")], OVER),
    "a name in capitals of its kind": (3, [of(p="1"), of("PATIENT", p="2")], OVER),
    "a name with blanks": (3, [of(p="1"), Step([PrivateUnit((b"2",), " p ")], "patient")], OVER),
    "two patients who are exchanged": (6, [of(p="1", q="2"), of(p="2", q="1")], OVER_6),
    "a patient's image on its own": (3, [of(p="12"), on("2")], OVER),
    "an image and then its patient": (3, [on("1"), of(p="12")], OVER),
    "a patient's images one by one": (6, [of(p="123"), on("1"), on("2")], OVER_6),
    "a patient's images one by one, before him": (6, [on("1"), on("2"), of(p="12")], OVER_6),
    "a patient's images at once": (6, [of(p="12"), on("12")], OVER),
    "a patient between his images": (6, [on("1"), of(p="12"), on("2")], OVER_6),
    "a patient of two months, by the images of each": (6, [of(p="1"), of(p="2"), on("1")], OVER_6),
    "new images of a patient whose images were used": (6, [of(p="1"), on("1"), of(p="2")], OVER_6),
    "an image that a control said is the patient's": (
        3,
        [replace(of(p="12"), event=FREE), of(p="1"), on("2")],
        OVER,
    ),
    "wards that cross patients": (6, [of(p="12"), of("ward", a="13", b="24")], OVER),
    "patients within a ward": (6, [of("ward", w="12"), of(p="1", q="2")], OVER),
    "a ward whose patients were used apart": (6, [of(p="1"), of(q="2"), of("ward", w="12")], OVER_6),
    "a patient of one image, with a neighbour of two": (6, [of(terms=TWO, p="1"), on("1")], OVER),
    "an image, with a neighbour of five": (9, [on("1"), of(terms=FIVE, p="1")], "already spent epsilon=15"),
    "a size that an earlier run declared": (9, [of(terms=FIVE, p="1"), on("1")], OVER),
    "a seeded run and then an honest one": (99, [on("1", secure=False), on("1")], INSECURE),
    "a seeded run on the patient": (99, [of(terms=SEEDED, p="1"), of(p="2")], INSECURE),
    "a seeded run on the patient's image": (99, [of(terms=SEEDED, p="12"), on("2")], INSECURE),
    "a seeded run and a promise to the patient": (99, [on("1", secure=False), of(p="1")], INSECURE),
    "a seeded run that one run forgot": (
        99,
        [on("1", secure=False), on("1", forgets_insecure=True), on("1")],
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
    "a patient by his image, of no declared size": (99, [of(p="1"), on("1")], SIZE),
    "an image by its patient, of no declared size": (99, [on("1"), of(p="1")], SIZE),
    "a new name, of no declared size": (99, [of(p="1"), of(q="1")], SIZE),
    "an image of a patient with others": (6, [of(terms=TWO, p="12"), on("1")], OVER),
    "a crossing patient of a declared size": (
        9,
        [of(terms=TWO, p="1"), of(terms=TWO, q="1")],
        OVER + "|epsilon=12",
    ),
    "a size that is too small": (99, [on("123"), of(terms=TWO, p="12"), of(terms=TWO, p="3")], "larger"),
    "a unit that is larger than declared": (
        99,
        [of(terms=TWO, p="123")],
        "more images than data.unit_size 2",
    ),
    "another relation": (99, [on("1"), under_replacement(on("1"))], RELATION),
    "another relation for the patient": (99, [of(p="1"), under_replacement(of(p="2"))], RELATION),
    "another relation for an image of the patient": (
        99,
        [of(terms=TWO, p="12"), under_replacement(on("2"))],
        RELATION,
    ),
}
"""Name → lifetime limit, runs, and what the last of them must be told, under add-remove."""


class _StoppedEarlyError(Exception):
    """A run was refused that should have been paid for, so nothing was tried."""


def _sequenced(limit: int, steps: Sequence[Step], relation: Relation) -> Act:
    """Carry out a sequence in a ledger of its own; raises what the last run is told."""

    def act(world: World) -> None:
        with TemporaryDirectory() as folder:
            ledger = Ledger(Path(folder) / "ledger.sqlite")
            ledger.set_cap(Budget(Fraction(limit)))
            for number, step in enumerate(steps[:-1]):
                try:
                    run(ledger, number, step)
                except BudgetError as error:
                    raise _StoppedEarlyError(str(error)) from error
            run(ledger, len(steps), steps[-1])

    def run(ledger: Ledger, number: int, step: Step) -> None:
        name, limits = f"{number:032x}", budget(9)
        account = ledger.account(name, step.units, step.relation or relation, limits, step.kind, step.terms)
        account.require([step.event])
        account.enrol().pay(Query(name, 1), [step.event], lambda: Paid(()))

    return act


def _attempt(name: str, case: tuple[int, Sequence[Step], str], relation: Relation) -> Attempt:
    limit, steps, reason = case
    error = (
        LedgerError
        if reason in (SIZE, RELATION)
        else DataError
        if "more images than" in reason
        else BudgetError
    )
    act = _sequenced(limit, steps, relation)
    return Attempt("across runs", f"{name}, {relation}", "create-1", act, reason, error)


ATTEMPTS = (
    *(_attempt(name, case, "replace-one") for name, case in SEQUENCES.items()),
    *(_attempt(name, SEQUENCES[name], "add-remove") for name in BOTH),
    *(_attempt(name, case, "add-remove") for name, case in ADDED.items()),
)
