"""The cells of a table: what has to be run, by names that say all that a cell depends on, and what came of each."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from pcevolve.public.pages.report.charts import FigureOverSeeds
from pcevolve_benchmarks.providers import BenchProvider
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.sizes import PAPER, DatasetFacts, TableScale
from pcevolve_benchmarks.tables.table import Measure, Table, Variant, Yardstick

OF_SELECTION = frozenset({"delta", "encoder", "epsilon", "lookahead", "relation", "subsample"})
"""Options that a method that looks at no private data does not depend on."""
PAYING = frozenset({"delta", "epsilon", "lookahead"})
"""Those of them that are not said to it at all."""


@dataclass(frozen=True)
class Cell:
    """One run, or one yardstick.

    Attributes:
        data: Name of the data set.
        options: Of ``pcevolve run``, but for where things lie and where the API is; JSON.
        seed: Public seed, and seed of the draw of the shots.
        yardstick: See ``Variant``.
        tested: Most held-out images of each class.
        heads: How many heads each judge trains.
    """

    data: str
    options: str
    seed: int
    yardstick: Yardstick
    tested: int
    heads: int

    @property
    def run(self) -> str:
        """Name of the run; cells that judge another part of the same run share it."""
        return self._digest(self.data, self.options, self.seed)

    @property
    def key(self) -> str:
        """Name of the cell: a digest of all that it depends on."""
        return self._digest(*asdict(self).values())

    def settings(self) -> dict[str, Any]:
        """The options of the run, with what follows from the seed."""
        return {**json.loads(self.options), "seed": self.seed, "subsample_seed": self.seed}

    @staticmethod
    def _digest(*parts: object) -> str:
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Place:
    """Where a cell stands in its table, and which provider's run it is."""

    row: str
    column: str
    cell: Cell
    provider: BenchProvider


def list_columns(
    table: Table, scale: TableScale, providers: Sequence[BenchProvider], encoders: Sequence[str]
) -> tuple[Variant, ...]:
    """The columns of a table at a scale; of those about providers or encoders, what was named."""
    if table.by == "provider":
        return tuple(Variant(each.name) for each in providers)
    if table.by == "encoder":
        return tuple(Variant(name, {"encoder": name}) for name in encoders)
    columns = table.paper_columns if scale.name == PAPER and table.paper_columns else table.columns
    return columns if scale.columns is None else _some(columns, scale.columns)


def _some(columns: tuple[Variant, ...], most: int) -> tuple[Variant, ...]:
    """A few columns in their order: the paper's own setting, and the first of the others."""
    papers = [each for each in columns if each.papers]
    kept = [*papers, *(each for each in columns if not each.papers)][:most]
    return tuple(each for each in columns if each in kept)


def places(
    table: Table,
    data: Sequence[BenchData],
    scale: TableScale,
    columns: Sequence[Variant],
    providers: Sequence[BenchProvider],
    common: Mapping[str, Any],
) -> Iterator[Place]:
    """Every place of a table; the first seed of all comes first, so that a table is whole as early as it can be.

    Args:
        table: What is shown.
        data: On which images.
        scale: How large.
        columns: See ``list_columns``.
        providers: A column each in the table about them; in every other one alone, of all columns.
        common: Options of all runs, as far as they concern them: what a person said.
    """
    rows = [*table.rows, *(each for each in table.controls if each not in table.rows)]
    asked = providers if table.by == "provider" else list(providers) * len(columns)
    of_columns = list(zip(columns, asked, strict=True))
    for seed, source, (column, provider), row in product(range(scale.seeds), data, of_columns, rows):
        options = _options(row, column, scale, source.words, {**common, **provider.options})
        cell = Cell(
            source.name, json.dumps(options, sort_keys=True), seed, row.yardstick, scale.tested, scale.heads
        )
        yield Place(row.name, _name_column(source, column, data), cell, provider)


def _name_column(source: BenchData, column: Variant, data: Sequence[BenchData]) -> str:
    """Name of a column: its data set, its variant, or both where there are several of both."""
    if not column.name:
        return source.name
    return column.name if len(data) == 1 else f"{source.name}, {column.name}"


def _options(
    row: Variant, column: Variant, scale: TableScale, words: str, common: Mapping[str, Any]
) -> dict[str, Any]:
    """Options of a run: what all have in common, the row's, and the column's as far as they concern the row."""
    if row.yardstick == "untrained":
        return {"domain": words, "method": "t2i"}
    if row.yardstick == "shots":
        return {"domain": words, "method": "t2i", "subsample": column.options.get("subsample", scale.shots)}
    method = DatasetFacts.of(row.options["method"])
    foreign = method.foreign
    unpaid = frozenset() if method.paid else PAYING
    base = {
        **{name: value for name, value in common.items() if name not in foreign | unpaid},
        "domain": words,
        "candidates": scale.candidates,
        "subsample": scale.shots,
    }
    passed_over = foreign | unpaid | (frozenset() if method.looks else OF_SELECTION)
    options = {
        **base,
        **row.options,
        **{name: value for name, value in column.options.items() if name not in passed_over},
    }
    if method.ends_in_its_dataset:
        rounds = column.options.get("iterations", scale.rounds)
        options |= {} if rounds is None else {"iterations": rounds}
    elif "iterations" in column.options:
        options.pop("iterations", None)  # a column of rounds concerns those whose last round is the dataset
    if not method.ends_in_its_dataset:
        options.pop("lookahead", None)  # there are no variations to look at
    return options


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
class CellFigure:
    """One number about a cell.

    Attributes:
        judge: Who said it.
        voted: Whether that judge's encoder took part in the selection.
        name: ``accuracy``, ``mixed``, ``fid``, or ``accuracy@T`` after iteration T.
        value: Accuracies in 0..1.
    """

    judge: str
    voted: bool
    name: str
    value: float


@dataclass(frozen=True)
class CellStore:
    """Figures by cell; what is kept stays kept, whatever happens after."""

    path: Path

    def keep(self, cell: str, facts: tuple[str, str, str, int, str], figures: Iterable[CellFigure]) -> None:
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

    def figures(self, cell: str) -> list[CellFigure]:
        """Return all known figures of a cell."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT judge, voted, name, value FROM figures WHERE cell = ? ORDER BY rowid", (cell,)
            ).fetchall()
        return [CellFigure(judge, bool(voted), name, value) for judge, voted, name, value in rows]

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
    values: dict[tuple[str, str], FigureOverSeeds]


def tabulate(
    places: Sequence[Place], store: CellStore, measures: Sequence[Measure], judges: Sequence[str]
) -> list[Judged]:
    """The table by each measure and judge, of each measure by those first that did not vote."""
    known = {place.cell.key: store.figures(place.cell.key) for place in places}
    made = [_judge(places, known, measure, judge) for measure in measures for judge in judges]
    return sorted(
        (each for each in made if each.values), key=lambda each: (measures.index(each.measure), each.voted)
    )


def _judge(
    places: Sequence[Place], known: dict[str, list[CellFigure]], measure: Measure, judge: str
) -> Judged:
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
        measure,
        judge,
        voted,
        rows,
        columns,
        {place: FigureOverSeeds.of(each) for place, each in found.items()},
    )


def _values(place: Place, own: Sequence[CellFigure], measure: Measure) -> list[tuple[str, float]]:
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
