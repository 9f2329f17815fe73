"""The ledger: what was ever spent on whom, across runs and processes (SQLite).

It knows a privacy unit by a keyed fingerprint. A charge and the outcome that it pays for are one transaction:
before the commit nothing was released and nothing is owed; after it the outcome is on record and is never
drawn again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from ..errors import BudgetError, LedgerError
from ..plan import Relation
from ..release import Chosen, Query, Receipt
from .accounting import composed

APPLICATION_ID = 0x50434576  # "PCEv": tells a ledger from any other SQLite file
VERSION = 1
SCHEMA = """
CREATE TABLE runs (run_id TEXT PRIMARY KEY, relation TEXT NOT NULL);
CREATE TABLE units (run_id TEXT NOT NULL REFERENCES runs, fingerprint BLOB NOT NULL,
                    PRIMARY KEY (fingerprint, run_id)) WITHOUT ROWID;
CREATE TABLE entries (number INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL REFERENCES runs,
                      query TEXT NOT NULL, receipt TEXT NOT NULL, UNIQUE (run_id, query));
"""


@dataclass(frozen=True)
class Cost:
    """What a draw costs and how it is made."""

    mechanism: str
    epsilon: Fraction


@dataclass(frozen=True)
class Limits:
    """How much may be spent, in pure ε.

    Attributes:
        run: By this run.
        lifetime: On any one privacy unit, by all runs that ever used it.
    """

    run: Fraction
    lifetime: Fraction


class RunRow(NamedTuple):
    """A run in the ledger."""

    run_id: str
    relation: Relation
    units: int
    draws: int
    epsilon: float


class Ledger:
    """An open ledger file."""

    def __init__(self, path: Path, create: bool = True) -> None:
        """Open the ledger, making a new one only where there is none.

        Raises:
            LedgerError: The file, or the key beside it, is missing its other half, damaged, or not a ledger.
        """
        self.path = path
        if not create and not path.exists():
            raise LedgerError(f"there is no ledger at {path}: nothing was ever spent with it")
        with self._guarded():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh = not path.exists()
            self._key = _load_key(path.with_suffix(".key"), fresh)
            self._db = sqlite3.connect(path, timeout=60.0, isolation_level=None)
            path.chmod(0o600)
            self._db.execute("PRAGMA synchronous=EXTRA")
            self._db.execute("PRAGMA foreign_keys=ON")
            self._prepare()

    def _prepare(self) -> None:
        with self.transaction():
            known = self._db.execute("PRAGMA application_id").fetchone()[0]
            tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if known == 0 and tables == 0:
                for statement in filter(str.strip, SCHEMA.split(";")):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id={APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version={VERSION}")
                return
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if (known, version) != (APPLICATION_ID, VERSION):
                raise LedgerError(
                    f"{self.path} is not a ledger of this version: choose another with --ledger"
                )
            if self._db.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                raise LedgerError(f"{self.path} is damaged: restore it from a backup; it was not touched")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(
                f"ledger {self.path}: {error}; nothing was released, nothing was spent"
            ) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and alone: a second process waits.

        Raises:
            LedgerError: The database refused; everything was rolled back.
        """
        with self._guarded():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def enrol(self, run_id: str, units: Sequence[bytes], relation: Relation, limits: Limits) -> Account:
        """Bind a run to its privacy units; the same again when a run is resumed.

        Args:
            run_id: Public id of the run.
            units: Content digest of each privacy unit; stored only as keyed fingerprints.
            relation: Neighbour relation of the run's costs.
            limits: What this run may spend, and what may ever be spent on one unit.

        Raises:
            LedgerError: The run was begun with other data, or the units were used under another relation.
        """
        prints = sorted({hmac.digest(self._key, unit, "sha256") for unit in units})
        with self.transaction() as db:
            known = db.execute("SELECT relation FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            if known is None:
                db.execute("INSERT INTO runs VALUES (?, ?)", (run_id, relation))
                db.executemany("INSERT INTO units VALUES (?, ?)", [(run_id, each) for each in prints])
            rows = db.execute(
                "SELECT fingerprint FROM units WHERE run_id = ? ORDER BY fingerprint", (run_id,)
            )
            if [row[0] for row in rows] != prints:
                raise LedgerError(
                    "the private data are not those that this run began with: nothing was spent"
                )
            self._refuse_mixed_relations(db, run_id)
        return Account(self, run_id, relation, limits)

    def _refuse_mixed_relations(self, db: sqlite3.Connection, run_id: str) -> None:
        rows = db.execute(
            "SELECT DISTINCT relation FROM runs WHERE run_id IN (SELECT run_id FROM units WHERE fingerprint IN"
            " (SELECT fingerprint FROM units WHERE run_id = ?))",
            (run_id,),
        ).fetchall()
        if len(rows) > 1:
            raise LedgerError(
                "earlier runs on these data used another neighbour relation: use the same --relation"
            )

    def runs(self) -> list[RunRow]:
        """Every run and what it has spent, oldest first."""
        with self.transaction() as db:
            rows = db.execute(
                "SELECT run_id, relation, (SELECT count(*) FROM units WHERE units.run_id = runs.run_id)"
                " FROM runs ORDER BY rowid"
            ).fetchall()
            paid = {row[0]: _receipts(db, row[0]) for row in rows}
        return [
            RunRow(run_id, relation, units, len(paid[run_id]), float(composed(paid[run_id])))
            for run_id, relation, units in rows
        ]

    def close(self) -> None:
        """Close the file."""
        self._db.close()


@dataclass(frozen=True)
class Account:
    """One run's view of the ledger: the only way to pay for a release."""

    ledger: Ledger
    run_id: str
    relation: Relation
    limits: Limits

    def pay(self, query: Query, cost: Cost, draw: Callable[[], tuple[Chosen, ...]]) -> Receipt:
        """Draw and pay in one transaction, or return what was drawn and paid for this query before.

        Raises:
            BudgetError: Less than the cost is left; nothing was drawn.
            LedgerError: The ledger could not record it; nothing was released.
        """
        with self.ledger.transaction() as db:
            known = self._recorded(db, query)
            if known is not None:
                return known
            self._afford(db, cost.epsilon)
            receipt = Receipt(
                run_id=self.run_id,
                iteration=query.iteration,
                label=query.label,
                chosen=draw(),
                mechanism=cost.mechanism,
                epsilon=str(cost.epsilon),
                relation=self.relation,
            )
            db.execute(
                "INSERT INTO entries (run_id, query, receipt) VALUES (?, ?, ?)",
                (self.run_id, query.key, json.dumps(receipt.as_dict())),
            )
        return receipt

    def recorded(self, query: Query) -> Receipt | None:
        """The receipt of a query that was paid for before, if it was."""
        with self.ledger.transaction() as db:
            return self._recorded(db, query)

    def committed(self, receipt: Receipt) -> bool:
        """Whether exactly this receipt was paid for by this run."""
        query = Query(receipt.run_id, receipt.iteration, receipt.label)
        return receipt.run_id == self.run_id and self.recorded(query) == receipt

    def receipts(self) -> tuple[Receipt, ...]:
        """Everything this run paid for, oldest first: the export that auditors read."""
        with self.ledger.transaction() as db:
            return _receipts(db, self.run_id)

    def spent_before(self) -> Fraction:
        """The most that other runs have spent on any one of this run's units."""
        with self.ledger.transaction() as db:
            return self._spent_by_others(db)

    def require(self, total: Fraction) -> None:
        """Refuse a plan that does not fit, before anything is spent.

        Raises:
            BudgetError: The run's whole cost is over the lifetime limit of the data.
        """
        with self.ledger.transaction() as db:
            done = composed(_receipts(db, self.run_id))
            self._afford(db, total - done)

    def _recorded(self, db: sqlite3.Connection, query: Query) -> Receipt | None:
        sql = "SELECT receipt FROM entries WHERE run_id = ? AND query = ?"
        row = db.execute(sql, (self.run_id, query.key)).fetchone()
        return None if row is None else _receipt(row[0])

    def _afford(self, db: sqlite3.Connection, cost: Fraction) -> None:
        own = composed(_receipts(db, self.run_id))
        if own + cost > self.limits.run:
            left = float(self.limits.run - own)
            raise BudgetError(f"asked epsilon={float(cost):g}, {left:g} left in this run: nothing was drawn")
        others = self._spent_by_others(db)
        if others + own + cost > self.limits.lifetime:
            total = float(others + own + cost)
            raise BudgetError(
                f"earlier runs already spent epsilon={float(others):g} on these data, whose lifetime limit is "
                f"{float(self.limits.lifetime):g}; this would make it {total:g}. Use the dataset that is already "
                f"paid for, or raise the limit knowingly with --lifetime-epsilon {total:g}"
            )

    def _spent_by_others(self, db: sqlite3.Connection) -> Fraction:
        runs = defaultdict(list)
        rows = db.execute(
            "SELECT fingerprint, run_id FROM units WHERE run_id != ? AND fingerprint IN"
            " (SELECT fingerprint FROM units WHERE run_id = ?)",
            (self.run_id, self.run_id),
        )
        for fingerprint, run_id in rows:
            runs[fingerprint].append(run_id)
        shared = {run_id for each in runs.values() for run_id in each}
        totals = {run_id: composed(_receipts(db, run_id)) for run_id in shared}
        return max(
            (sum((totals[run] for run in each), Fraction(0)) for each in runs.values()), default=Fraction(0)
        )


def _receipts(db: sqlite3.Connection, run_id: str) -> tuple[Receipt, ...]:
    rows = db.execute("SELECT receipt FROM entries WHERE run_id = ? ORDER BY number", (run_id,))
    return tuple(_receipt(row[0]) for row in rows)


def _receipt(text: str) -> Receipt:
    try:
        return Receipt.from_dict(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise LedgerError("a ledger entry is damaged: restore the ledger from a backup") from error


def _load_key(path: Path, fresh: bool) -> bytes:
    """The secret that makes fingerprints meaningless to others; made once, with the ledger."""
    if fresh and not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(32))
            file.flush()
            os.fsync(file.fileno())
    if not path.exists():
        raise LedgerError(f"{path} is missing: without it the ledger cannot recognise data; restore it")
    key = path.read_bytes()
    if len(key) != hashlib.sha256().digest_size:
        raise LedgerError(f"{path} is damaged: restore it from a backup")
    return key
