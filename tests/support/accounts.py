"""Small accounts in real ledger files; for tests only."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

from pcevolve.keeper.ledger.account import Record
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.keeper.ledger.ledger import NO_RECORD, Account, Limits, Paid, PrivateUnit, Terms
from pcevolve.public.privacy import FREE, Budget, Event, Relation
from pcevolve.public.release import Choice, Chosen, Query, Receipt

UNITS = tuple(PrivateUnit((each,)) for each in (b"unit 1", b"unit 2", b"unit 3"))
ONE = Event("exponential", "1")


def budget(epsilon: Fraction | int, delta: float = 0.0) -> Limits:
    """What a run may spend; the ledger's cap decides about all runs together."""
    return Limits(Budget(Fraction(epsilon), delta))


def set_cap(path: Path, epsilon: int, delta: float = 0.0) -> None:
    """Cap what all runs of a ledger may spend together; the ledger is made where there is none."""
    with closing(LedgerBook(path)) as ledger:
        ledger.set_cap(Budget(Fraction(epsilon), delta))


def gaussian(lifetime: int) -> dict[str, Any]:
    """Options of an account that Gaussian noise can be paid from."""
    return {"limit": lifetime, "lifetime": lifetime, "delta": 1e-5}


def images(*digests: bytes) -> tuple[PrivateUnit, ...]:
    """Single images."""
    return tuple(PrivateUnit((each,)) for each in digests)


def patients(**of: Sequence[bytes]) -> tuple[PrivateUnit, ...]:
    """Units with names, and the images of each."""
    return tuple(PrivateUnit(tuple(digests), name) for name, digests in of.items())


def account(
    path: Path,
    run: str = "a",
    units: Sequence[PrivateUnit] = UNITS,
    limit: Fraction | int = 3,
    lifetime: Fraction | int = 3,
    delta: float = 0.0,
    relation: Relation = "replace-one",
    unit: str = "image",
    record: Record = NO_RECORD,
    data: bytes = b"",
    **terms: Any,
) -> Account:
    """An account in a ledger that is opened for it; more keywords are its terms.

    A ``lifetime`` that differs from the limit becomes the ledger's cap, as one that was set before does.
    """
    ledger, cap = LedgerBook(path), Budget(Fraction(lifetime), delta)
    if ledger.cap() not in (None, cap) or lifetime != limit:
        ledger.set_cap(cap)
    limits = budget(limit, delta)
    return ledger.account(
        run, units, relation, limits, unit, Terms(**terms), record=record, data=data
    ).enrol()


def query(iteration: int, run: str = "a") -> Query:
    """A run's question in a round."""
    return Query(run, iteration)


def outcome(name: str = "x", measured: bytes = b"") -> Callable[[], Paid]:
    """A draw that chooses one candidate by name."""
    return lambda: Paid((Choice("cut", (Chosen(name, "0" * 64),)),), measured)


def never() -> Paid:
    """A draw that must not be made."""
    raise AssertionError("drawn again")


def pay(mine: Account, iteration: int, run: str = "a", event: Event = ONE) -> Receipt:
    """Pay for a round."""
    return mine.pay(query(iteration, run), [event], outcome(f"{run}{iteration}"))


def spend(
    path: Path, run: str, units: Sequence[PrivateUnit], event: Event, unit: str = "image", **options: Any
) -> Receipt:
    """A run that asks whether it may, and pays for one release."""
    mine = account(path, run=run, units=units, unit=unit, **options)
    mine.require([event])
    return mine.pay(query(1, run), [event, FREE], outcome())


def of_source(namespace: str, **units: Sequence[bytes]) -> tuple[PrivateUnit, ...]:
    """Units whose names count within a source."""
    return tuple(PrivateUnit(tuple(digests), name, namespace) for name, digests in units.items())


def prints_in(path: Path) -> set[bytes]:
    """The fingerprints of a run on single images."""
    with closing(sqlite3.connect(path)) as db:
        blob = db.execute("SELECT private FROM rows WHERE name = ''").fetchone()[0]
    return {blob[start : start + 32] for start in range(0, len(blob), 32)}
