"""An append-only list of sealed rows in an SQLite file, and the key that seals them.

Each row's seal covers the row and the seal before it. The head's seal covers the number of rows. A row that
other code edited, removed, moved or added is therefore detected when the file is opened and whenever a row
is read. An older copy of the complete file, restored between two runs, is not detected.
"""

from __future__ import annotations

import hmac
import os
import secrets
import sqlite3
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from pcevolve.errors import LedgerError, printable
from pcevolve.public.durable import write_durably

APPLICATION_ID = 0x50434576  # "PCEv" distinguishes a ledger from other SQLite files
VERSION = 5
SCHEMA = (
    "CREATE TABLE rows (number INTEGER PRIMARY KEY, run_id TEXT NOT NULL, name TEXT NOT NULL,"
    " content BLOB NOT NULL, private BLOB NOT NULL, seal BLOB NOT NULL, UNIQUE (run_id, name))",
    "CREATE TABLE head (count INTEGER NOT NULL, seal BLOB NOT NULL)",
)
SIZE = 32  # bytes of a key and of a fingerprint
WAIT_SECONDS = 300.0  # another run may hold the lock while it computes a draw
PATIENCE_SECONDS = 0.5  # wait before the owner is informed
# EXTRA also syncs the removal of the journal after a commit; with FULL, a power cut could undo a paid draw
# that was already sent.
DURABLE = "PRAGMA synchronous=EXTRA"


class Row(NamedTuple):
    """One sealed row of the file, numbered from 1 without gaps; its seal covers the row and the seal before it."""

    number: int
    run_id: str
    name: str
    content: bytes
    private: bytes
    seal: bytes


class Store:
    """An open ledger file: sealed rows that are only ever added."""

    def __init__(
        self, path: Path, key: LedgerKey, waiting: Callable[[str], None] = lambda message: None
    ) -> None:
        """Open a file and verify all of it without writing (``LedgerError`` if it is damaged, or no ledger).

        Args:
            waiting: Called with a sentence if another process holds the lock.
        """
        self.path = path
        self._waiting = waiting
        self.numbers: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self.key = key
        self._seals = [b""]  # of the verified rows, by number; rows begin at 1, and entry 0 is empty
        # SQLite treats an empty file as a new database, so a truncated ledger would have forgotten
        # everything.
        if path.stat().st_size == 0:
            raise LedgerError(f"{path} is empty, but a ledger is never empty: restore it from a backup")
        with self._guard():
            self._db = _connect(path)
        try:
            with self._guard():
                self._begin("BEGIN")
                self._recognise()
                self._db.execute("COMMIT")
                # Set for each connection, because SQLite does not store this setting in the file.
                self._db.execute(DURABLE)
            with self.reading():
                self._inspect()
        except BaseException:
            self._db.close()
            raise

    @staticmethod
    def create(path: Path, key: LedgerKey) -> None:
        """Make a new file without rows; the file is on disk when the function returns."""
        db = _connect(path)
        db.execute(DURABLE)
        try:
            db.execute("BEGIN")
            for statement in SCHEMA:
                db.execute(statement)
            # Sealed from the start, so that a ledger whose rows were removed cannot pass as an empty one.
            db.execute("INSERT INTO head VALUES (0, ?)", (_head(key, 0, b""),))
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={VERSION}")
            db.execute("COMMIT")
        finally:
            db.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Provide one consistent and verified view; an open transaction is joined.

        Raises:
            LedgerError: Other code changed the file.
        """
        # Joined, not nested: facts that an outer transaction checked must still hold inside.
        if self._db.in_transaction:
            yield
            return
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Provide an exclusive, atomic transaction; other processes wait (``LedgerError`` if the database refuses)."""
        # IMMEDIATE takes the lock before anything is read, so that checked facts still hold at the write.
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    def append(self, run_id: str, name: str, content: bytes, private: bytes = b"") -> None:
        """Add a row, at most one per transaction; it can be read after the transaction."""
        # Numbers have no gaps: a gap would mean that a row was removed.
        number = len(self._seals)
        seal = self._seal(number, run_id, name, content, private)
        with self._guard():
            values = Row(number, run_id, name, content, private, seal)
            self._db.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", values)
            self._db.execute("UPDATE head SET count = ?, seal = ?", (number, _head(self.key, number, seal)))

    def row(self, number: int) -> Row:
        """Return a row, verified again (``LedgerError`` if it has changed since the first read)."""
        with self.reading(), self._guard():
            row = Row(*self._db.execute("SELECT * FROM rows WHERE number = ?", (number,)).fetchone())
            # The row must match the seal of the first read, and that seal must match the key.
            if row.seal != self._seals[number] or row.seal != self._seal(*row[:-1]):
                raise LedgerError(self._describe_damage("a row changed while it was open"))
        return row

    def close(self) -> None:
        """Close the ledger file; an open transaction is rolled back."""
        self._db.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        try:
            with self._guard():
                self._begin(begin)
                self._catch_up()
            yield
            with self._guard():
                self._db.execute("COMMIT")
        # BaseException, because Ctrl-C between draw and commit must roll back too.
        except BaseException:
            if self._db.in_transaction:
                with self._guard():
                    self._db.execute("ROLLBACK")
            raise

    def _begin(self, begin: str) -> None:
        """Begin a transaction; if another process has to finish first, report that."""
        try:
            # A short wait first: the usual wait is silent, and a long one is explained.
            self._try_to_begin(begin, PATIENCE_SECONDS)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            self._waiting(f"waiting for the ledger {self.path}: {find_holder(self.path)} is writing to it")
            self._try_to_begin(begin, WAIT_SECONDS)
        self._db.execute(f"PRAGMA busy_timeout={WAIT_SECONDS * 1000:.0f}")  # for the commit

    def _try_to_begin(self, begin: str, seconds: float) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._db.execute(f"PRAGMA busy_timeout={seconds * 1000:.0f}")
        self._db.execute(begin)
        # A read transaction takes its lock only at its first query.
        self._db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """Raise SQLite's errors as a one-line ``LedgerError``; type errors occur only with a damaged file."""
        try:
            yield
        except (sqlite3.Error, OSError, TypeError, ValueError) as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                who = find_holder(self.path)
                raise LedgerError(f"ledger {self.path} is in use by {who}: try again later") from error
            raise LedgerError(f"ledger {self.path}: {error}; nothing was released") from error

    def _recognise(self) -> None:
        """Refuse a file that is not a ledger of this version, before anything else is read."""
        known = self._db.execute("PRAGMA application_id").fetchone()[0]
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        # Distinguished from a foreign file: an older ledger still protects people, and must not be deleted.
        if known == APPLICATION_ID and version < VERSION:
            raise LedgerError(
                f"{self.path} was made by an earlier version of pcevolve, in format {version}, and was "
                "not changed: keep this ledger and that version for the runs in it, and choose another "
                "ledger with privacy.ledger for new data"
            )
        if (known, version) != (APPLICATION_ID, VERSION):
            raise LedgerError(
                f"{self.path} is not a ledger of this version of pcevolve: choose another file with "
                "privacy.ledger"
            )

    def _inspect(self) -> None:
        with self._guard():
            # The schema is compared as text, because a trigger or view in a foreign file could change the
            # results of queries.
            tables = {row[0] for row in self._db.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")}
            if tables != set(SCHEMA) or self._db.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                raise LedgerError(self._describe_damage("its structure is broken"))

    def _catch_up(self) -> None:
        """Verify the rows that were added since the last read, and that nothing else changed."""
        sql = "SELECT * FROM rows WHERE number >= ? ORDER BY number"
        for values in self._db.execute(sql, (len(self._seals),)):
            # In order: each seal covers the one before, so no row can be exchanged or moved.
            row = Row(*values)
            if row.number != len(self._seals) or row.seal != self._seal(*row[:-1]):
                raise LedgerError(
                    self._describe_damage(f"row {row.number} was changed, or an earlier row is missing")
                )
            self._seals.append(row.seal)
            self.numbers[row.run_id][row.name] = row.number
        count = len(self._seals) - 1
        heads = self._db.execute("SELECT count, seal FROM head").fetchall()
        # The head seals the number of rows; otherwise the last rows could be cut off undetected.
        if heads != [(count, _head(self.key, count, self._seals[-1]))]:
            raise LedgerError(
                self._describe_damage("its last rows are missing, or its key belongs to another ledger")
            )

    def _seal(self, number: int, run_id: str, name: str, content: bytes, private: bytes) -> bytes:
        before = self._seals[number - 1]
        return self.key.seal(before, b"%d" % number, run_id.encode(), name.encode(), content, private)

    def _describe_damage(self, how: str) -> str:
        return f"{self.path} is damaged ({how}) and was not changed: restore it and its key from a backup"


@dataclass(frozen=True, repr=False)
class LedgerKey:
    """A ledger's secret; without it, fingerprints can neither be computed nor traced back to their values."""

    secret: bytes

    @classmethod
    def new(cls) -> Self:
        """Draw a new key from the operating system's CSPRNG."""
        return cls(secrets.token_bytes(SIZE))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a key file (``LedgerError`` if it is missing or incomplete)."""
        # Never replaced by a new key, which would recognise no image and so restart every budget.
        if not path.exists():
            raise LedgerError(
                f"{path} is missing, and without this file the ledger cannot recognise data: restore it"
            )
        # Raw bytes, because no format can then be misread.
        secret = path.read_bytes()
        if len(secret) != SIZE:
            raise LedgerError(f"{path} is damaged: restore it from a backup")
        return cls(secret)

    def save(self, path: Path) -> None:
        """Write the key durably, readable by its owner alone."""
        write_durably(path, self.secret, 0o600)

    def fingerprint(self, digest: bytes) -> bytes:
        """Return the ledger's fingerprint of an image's digest: 32 bytes, equal for equal digests."""
        return self._mac(b"fingerprint", (digest,))

    def data_fingerprint(self, digest: bytes) -> str:
        """Return the ledger's fingerprint, hex, of the digest of a run's private data."""
        return self._mac(b"data", (digest,)).hex()

    def name_fingerprint(self, kind: str, name: str, namespace: str = "") -> bytes:
        """Return the ledger's fingerprint of a unit's name: 32 bytes, equal for equal names of one kind.

        Names in different namespaces have different fingerprints. Surrounding blanks, the case of the kind,
        and equivalent Unicode spellings make no difference.
        """
        # Composed twice, because case folding may decompose a spelling.
        spelled = _compose(_compose(kind).casefold()), _compose(name), _compose(namespace)
        return self._mac(b"name", tuple(each.encode() for each in spelled))

    def seal(self, *parts: bytes) -> bytes:
        """Return 32 bytes that only this key derives from these parts, in this order."""
        # One purpose per use, so that a fingerprint can never pass as a seal.
        return self._mac(b"seal", parts)

    def _mac(self, purpose: bytes, parts: tuple[bytes, ...]) -> bytes:
        # Each part is preceded by its length, so that "ab", "c" and "a", "bc" have different seals.
        framed = b"".join(len(part).to_bytes(8, "big") + part for part in (purpose, *parts))
        return hmac.digest(self.secret, framed, "sha256")


def _head(key: LedgerKey, count: int, last: bytes) -> bytes:
    return key.seal(b"head", b"%d" % count, last)


def _connect(path: Path) -> sqlite3.Connection:
    """Open a connection without implicit transactions."""
    return sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)


def _compose(text: str) -> str:
    """Normalise a text by Unicode's canonical equivalence."""
    return unicodedata.normalize("NFC", text).strip()


LOCKS = Path("/proc/locks")
RESERVED = 0x40000001
"""Position of the byte that SQLite locks in a database file before a write."""
LONGEST = 100
"""Largest number of characters of a command that are shown."""


def find_holder(path: Path) -> str:
    """Name the process that is writing to an SQLite file; ``another process`` if unknown."""
    try:
        # By inode, because the kernel's list of locks contains no paths.
        inode = str(path.stat().st_ino)
        # A line reads: 2: POSIX  ADVISORY  WRITE 9599 fe:00:2146732 1073741825 1073741825
        fields = (line.split() for line in LOCKS.read_text().splitlines())
        of_file = [each for each in fields if each[-3].split(":")[-1] == inode and each[-1] != "EOF"]
        # Only a writer locks this byte; readers lock others.
        pids = [each[-4] for each in of_file if int(each[-2]) <= RESERVED <= int(each[-1])]
    except (OSError, LookupError, ValueError):
        return "another process"
    # The kernel reports pid 0 for a process of another container.
    return f"process {pids[0]}{_describe(pids[0])}" if pids and pids[0] != "0" else "another process"


def _describe(pid: str) -> str:
    """Return a process's command; empty if it cannot be read."""
    try:
        words = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    command = printable(" ".join(os.fsdecode(word) for word in words if word))
    return f" ({command[:LONGEST]}{'…' if len(command) > LONGEST else ''})" if command else ""
