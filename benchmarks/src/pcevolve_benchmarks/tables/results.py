"""Results of a table: figures of cells in a database, and by row, column and judge with intervals over the seeds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pcevolve.evaluation.intervals import Value
from pcevolve_benchmarks.tables.cells import Place
from pcevolve_benchmarks.tables.table import Measure

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
        """Return all known figures of a cell."""
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


BY_ITERATION: Mapping[Measure, str] = {
    "by iteration": "accuracy",
    "loss": "loss",
    "votes": "votes",
    "to private": "to private",
    "to synthetic": "to synthetic",
}
"""Measures that have a figure after each iteration T, and what these are called before ``@T``."""
PAIRS: Mapping[Measure, tuple[tuple[str, str], ...]] = {
    "mixed": (("accuracy", "alone"), ("mixed", "with the shots")),
    "best": (("last", "last"), ("best", "best on the test images")),
    "noise": (("votes cast", "votes"), ("noise cast", "noise")),
}
"""Measures of two figures, and what their columns are called."""


@dataclass(frozen=True)
class Judged:
    """Results of a table in one measure, by one judge.

    Attributes:
        measure: What is shown.
        judge: Its name.
        voted: Whether its encoder selected, in any of the rows.
        rows: Names, in order.
        columns: Names, in order.
        values: By row and column; what is not known is not there.
    """

    measure: Measure
    judge: str
    voted: bool
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: dict[tuple[str, str], Value]


def judged(
    places: Sequence[Place], store: Store, measures: Sequence[Measure], judges: Sequence[str]
) -> list[Judged]:
    """The table by each measure and judge, of each measure by those first that did not vote."""
    known = {place.cell.key: store.figures(place.cell.key) for place in places}
    made = [_judge(places, known, measure, judge) for measure in measures for judge in judges]
    return sorted(
        (each for each in made if each.values), key=lambda each: (measures.index(each.measure), each.voted)
    )


def _judge(places: Sequence[Place], known: dict[str, list[Figure]], measure: Measure, judge: str) -> Judged:
    found: dict[tuple[str, str], list[float]] = {}
    voted = False
    for place in places:
        own = [
            each
            for each in known[place.cell.key]
            if judge == each.judge or place.cell.yardstick == "classifier"
        ]
        voted = voted or any(each.voted for each in own if each.judge == judge)
        for column, value in _values(place, own, measure):
            found.setdefault((place.row, column), []).append(value)
    rows = tuple(dict.fromkeys(place.row for place in places))
    columns = tuple(dict.fromkeys(column for row in rows for (of, column) in found if of == row))
    return Judged(
        measure, judge, voted, rows, columns, {place: Value.of(each) for place, each in found.items()}
    )


def _values(place: Place, own: Sequence[Figure], measure: Measure) -> list[tuple[str, float]]:
    """Return a cell's figures of a measure, by column."""
    by_name = {each.name: each.value for each in own}
    if measure in BY_ITERATION:
        wanted = BY_ITERATION[measure]
        parts = ((name.partition("@"), value) for name, value in by_name.items())
        return [
            (f"{place.column}, {at}", value) for (name, found, at), value in parts if found and name == wanted
        ]
    if measure in PAIRS:
        return [
            (f"{place.column}, {said}", by_name[name]) for name, said in PAIRS[measure] if name in by_name
        ]
    return [(place.column, by_name[measure])] if measure in by_name else []
