"""A ledger's rows as values: enrolled runs and their payments."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from pcevolve.errors import LedgerError
from pcevolve.keeper.ledger.store import SIZE, Row, Store
from pcevolve.keeper.ledger.units import COUNT, RunUnits, UnitPartition, Units
from pcevolve.public.dp.calibration import DRAWN_UNITS
from pcevolve.public.privacy import FREE, Budget, Event, Relation
from pcevolve.public.release import Query, Receipt

ENROLMENT = ""  # name of a run's first row; a query's key is never empty
CAPS = ""  # replaces a run's id in rows about all runs; a run's id is never empty


@dataclass(frozen=True)
class Cap:
    """A limit on ε of all runs together on any one privacy unit; it holds until the next cap in the ledger.

    ``time`` is in seconds since 1970 by this machine's clock, for people to read.
    """

    number: int
    time: float
    budget: Budget


@dataclass(frozen=True)
class Listed:
    """The owner's declared secrets, and the promise to each.

    Attributes:
        fingerprint: Keyed fingerprint of the declaration, hex.
        most: Largest number of texts that contain one of the secrets.
        budget: η; every release of the run is η-GDP for a secret's value.
    """

    fingerprint: str
    most: int
    budget: float

    def is_declared_in(self, run: Enrolment) -> bool:
        theirs = run.terms.secrets
        # Compared as a whole: of two lists that overlap, nobody can tell which secret they share.
        return theirs is not None and theirs.fingerprint == self.fingerprint

    def as_event(self, count: int = 1) -> Event:
        """Return a release under this promise as an event on one secret; free if η is 0."""
        # With η = 0 no text with a secret counts, so a release reveals nothing about the secret.
        if self.budget == 0:
            return FREE
        # μ-GDP equals one Gaussian release with a noise multiplier of 1/μ.
        return Event("gaussian", str(1 / Fraction(self.budget)), count)


@dataclass(frozen=True)
class Terms:
    """A run's terms for the use of the data, apart from its budget; public, and fixed when the run begins.

    Attributes:
        secure: Whether noise comes from the operating system's CSPRNG; if not, the run is INSECURE.
        unit_size: Largest number of images of one privacy unit, as declared; None if not declared.
        forgets_insecure: Whether INSECURE runs on the same data are left out of the sum of all runs' spending.
        subsampled: Whether the run's units are subsampled from a folder. Then one unit of the folder
            changes several units of the subsample.
    """

    provider: str = ""
    secure: bool = True
    unit_size: int | None = None
    forgets_insecure: bool = False
    secrets: Listed | None = None
    subsampled: bool = False

    @property
    def group(self) -> int:
        """Number of the run's units that change when one unit of the source folder changes."""
        return DRAWN_UNITS if self.subsampled else 1

    @property
    def noise(self) -> str:
        """The source of noise: ``os-csprng`` or ``INSECURE``."""
        return "os-csprng" if self.secure else "INSECURE"


@dataclass(frozen=True)
class Origin:
    """The folder and domain that a run began with, by which its owner recognises it; nothing depends on them."""

    folder: str = ""
    domain: str = ""


@dataclass(frozen=True)
class Enrolment:
    """A run, and the data that it is bound to.

    Attributes:
        data: Keyed fingerprint, hex, of all private facts that the run's choices follow from: classes,
            units and secrets of each image. ``units`` contains only images and their units.
        began: Time of enrolment, in seconds since 1970 by this machine's clock; 0 before enrolment.
    """

    run_id: str
    relation: Relation
    unit: str
    budget: Budget
    units: Units
    data: str = ""
    terms: Terms = Terms()
    origin: Origin = Origin()
    began: float = 0.0


@dataclass(frozen=True)
class Access:
    """The access to private data for one paid release.

    ``time`` is in seconds since 1970 by this machine's clock, for people to read; nothing depends on it.
    """

    number: int
    time: float
    iteration: int
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Payment:
    """A paid release, and the state of the run's record when it was drawn.

    Attributes:
        record: Digest of the record's last line at that time. It commits to the candidates and to
            everything before.
    """

    receipt: Receipt
    record: str


class Entries:
    """Reads and adds a ledger's rows; rows are cached, because they never change."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self._clock = clock
        self._enrolments: dict[str, Enrolment] = {}
        self._partitions: dict[Units, UnitPartition] = {}
        self._accesses: dict[int, Access] = {}  # rows never change, and their seals were verified

    def run_ids(self) -> tuple[str, ...]:
        """Ids of all runs in the ledger, oldest first."""
        with self.store.reading():
            # Caps are rows too, so that the same chain of seals covers them; no run can have their name.
            return tuple(run_id for run_id in self.store.numbers if run_id != CAPS)

    def caps(self) -> tuple[Cap, ...]:
        """List every cap that was ever set, oldest first; the last one applies."""
        with self.store.reading():
            rows = (self.store.row(number) for number in sorted(self.store.numbers.get(CAPS, {}).values()))
            return tuple(map(_cap, rows))

    def add_cap(self, budget: Budget) -> None:
        """Add a cap for all runs; within ``store.writing()``."""
        content = {"time": self._clock(), "epsilon": str(budget.epsilon), "delta": budget.delta}
        self.store.append(CAPS, str(len(self.store.numbers.get(CAPS, {}))), _encode(content))

    def enrolment(self, run_id: str) -> Enrolment | None:
        with self.store.reading():
            number = self.store.numbers.get(run_id, {}).get(ENROLMENT)
            if number is not None and run_id not in self._enrolments:
                self._enrolments[run_id] = _enrolment(self.store.row(number))
        return self._enrolments.get(run_id)

    def read_units(self, run: Enrolment) -> RunUnits:
        """Read a run's units for comparison; runs on the same units share one ``UnitPartition``."""
        # Shared, because runs on one folder have equal units, and reading a million fingerprints takes time.
        if run.units not in self._partitions:
            self._partitions[run.units] = UnitPartition.of(run.units)
        return RunUnits(run.run_id, run.unit, self._partitions[run.units], run.terms.unit_size)

    def payment(self, query: Query) -> Payment | None:
        with self.store.reading():
            number = self._number(query)
            return None if number is None else _payment(self.store.row(number))

    def read_measured(self, query: Query) -> bytes:
        """Return the stored measurement of a paid query; empty for an unpaid query."""
        with self.store.reading():
            number = self._number(query)
            # Stored in the row's private part, which exports leave out, although it becomes public with its
            # receipt.
            return b"" if number is None else self.store.row(number).private

    def payments(self, run_id: str) -> tuple[Payment, ...]:
        """List everything that a run paid for, oldest first."""
        with self.store.reading():
            return tuple(_payment(self.store.row(number)) for number in self._list_paid(run_id))

    def accesses(self, run_id: str) -> tuple[Access, ...]:
        with self.store.reading():
            numbers = self._list_paid(run_id)
            for number in numbers:
                if number not in self._accesses:
                    self._accesses[number] = _access(self.store.row(number))
        return tuple(self._accesses[number] for number in numbers)

    def events(self, run_id: str) -> tuple[Event, ...]:
        return tuple(event for access in self.accesses(run_id) for event in access.events)

    def enrol(self, enrolment: Enrolment) -> None:
        """Add a row for a run; within ``store.writing()``."""
        content = {
            "time": self._clock(),
            "relation": enrolment.relation,
            "unit": enrolment.unit,
            # As exact text, because the limit is compared as a fraction, and a float of 0.1 is not 0.1.
            "epsilon": str(enrolment.budget.epsilon),
            "delta": enrolment.budget.delta,
            # On record, because a resumed run must keep its terms.
            "terms": asdict(enrolment.terms),
            "origin": asdict(enrolment.origin),
            "data": enrolment.data,
            "images": enrolment.units.image_count,
            "names": len(enrolment.units.names) // SIZE,
        }
        # Fingerprints are stored apart from the content, because only the content is ever exported.
        prints = enrolment.units.images + enrolment.units.sizes + enrolment.units.names
        self.store.append(enrolment.run_id, ENROLMENT, _encode(content), prints)

    def pay(self, query: Query, payment: Payment, measured: bytes) -> None:
        """Add a row for a paid release; within ``store.writing()``."""
        content = {
            "time": self._clock(),
            "receipt": payment.receipt.as_dict(),
            "record": payment.record,
        }
        self.store.append(query.run_id, query.key, _encode(content), measured)

    def _number(self, query: Query) -> int | None:
        return self.store.numbers.get(query.run_id, {}).get(query.key)

    def _list_paid(self, run_id: str) -> list[int]:
        rows = self.store.numbers.get(run_id, {})
        return sorted(number for name, number in rows.items() if name != ENROLMENT)


def _encode(content: dict[str, Any]) -> bytes:
    # Sorted keys, because the seal covers these bytes, not their meaning.
    return json.dumps(content, sort_keys=True).encode()


@contextmanager
def _understanding(row: Row) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:
        raise LedgerError(
            f"ledger row {row.number} was written by another version of pcevolve: use that version"
        ) from error


def _enrolment(row: Row) -> Enrolment:
    with _understanding(row):
        values = json.loads(row.content)
        budget, terms = Budget(Fraction(values["epsilon"]), values["delta"]), _terms(values["terms"])
        units = _units(row.private, values["images"], values["names"])
        origin = Origin(**values["origin"])
        return Enrolment(
            *(row.run_id, values["relation"], values["unit"], budget, units, values["data"], terms, origin),
            values["time"],
        )


def _cap(row: Row) -> Cap:
    with _understanding(row):
        values = json.loads(row.content)
        return Cap(row.number, values["time"], Budget(Fraction(values["epsilon"]), values["delta"]))


def _terms(values: dict[str, Any]) -> Terms:
    listed = values["secrets"]
    return Terms(**{**values, "secrets": listed and Listed(**listed)})


def _units(prints: bytes, images: int, names: int) -> Units:
    sizes = images * SIZE
    ends = sizes + names * COUNT.itemsize
    # The seal has verified the bytes; the length shows that this version interprets them as intended.
    if len(prints) != ends + names * SIZE:
        raise ValueError("fingerprints are missing")
    return Units(prints[:sizes], prints[sizes:ends], prints[ends:])


def _payment(row: Row) -> Payment:
    with _understanding(row):
        values = json.loads(row.content)
        return Payment(Receipt.from_dict(values["receipt"]), values["record"])


def _access(row: Row) -> Access:
    # Choices are left out, because a receipt may have many thousands.
    with _understanding(row):
        values = json.loads(row.content)
        events = tuple(Event(**each) for each in values["receipt"]["events"])
        return Access(row.number, values["time"], values["receipt"]["iteration"], events)
