"""Where figures are kept: a database that several processes of one table, and several tables, fill together."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS figures (
    cell TEXT NOT NULL, judge TEXT NOT NULL, voted INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (cell, judge, name)
);
CREATE TABLE IF NOT EXISTS cells (
    cell TEXT PRIMARY KEY, run TEXT NOT NULL, data TEXT NOT NULL, options TEXT NOT NULL, seed INTEGER NOT NULL,
    yardstick TEXT NOT NULL
);
"""


@dataclass(frozen=True)
class Figure:
    """One number about a cell.

    Attributes:
        judge: Who said it.
        voted: Whether that judge's encoder took part in the selection.
        name: ``accuracy``, ``mixed``, ``fid``, ``kid``, or ``accuracy@T`` after iteration T.
        value: Accuracies in 0..1.
    """

    judge: str
    voted: bool
    name: str
    value: float


@dataclass(frozen=True)
class Store:
    """Figures by cell; what is kept stays kept, whatever happens after."""

    path: Path

    def keep(self, cell: str, facts: tuple[str, str, str, int, str], figures: Iterable[Figure]) -> None:
        """Keep what was measured of a cell, in one transaction.

        Args:
            cell: Its key.
            facts: Name of its run, data set, options, seed and yardstick, for people.
            figures: What was measured.
        """
        with self._open() as connection:
            connection.execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?)", (cell, *facts))
            connection.executemany(
                "INSERT OR REPLACE INTO figures VALUES (?, ?, ?, ?, ?)",
                [(cell, each.judge, each.voted, each.name, each.value) for each in figures],
            )

    def figures(self, cell: str) -> list[Figure]:
        """What is known of a cell."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT judge, voted, name, value FROM figures WHERE cell = ? ORDER BY rowid", (cell,)
            ).fetchall()
        return [Figure(judge, bool(voted), name, value) for judge, voted, name, value in rows]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=60)) as connection, connection:
            connection.executescript(SCHEMA)
            yield connection
