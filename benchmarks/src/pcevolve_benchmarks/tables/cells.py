"""The cells of a table: what has to be run, each by a name that says everything it depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from pcevolve_benchmarks.providers import Provider
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.sizes import PAPER, Facts, Scale
from pcevolve_benchmarks.tables.table import Table, Variant, Yardstick

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
    provider: Provider


def columns_of(
    table: Table, scale: Scale, providers: Sequence[Provider], encoders: Sequence[str]
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
    scale: Scale,
    columns: Sequence[Variant],
    providers: Sequence[Provider],
    common: Mapping[str, Any],
) -> Iterator[Place]:
    """Every place of a table; the first seed of all comes first, so that a table is whole as early as it can be.

    Args:
        table: What is shown.
        data: On which images.
        scale: How large.
        columns: See ``columns_of``.
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
    row: Variant, column: Variant, scale: Scale, words: str, common: Mapping[str, Any]
) -> dict[str, Any]:
    """Options of a run: what all have in common, the row's, and the column's as far as they concern the row."""
    if row.yardstick == "untrained":
        return {"domain": words, "method": "t2i"}
    if row.yardstick == "shots":
        return {"domain": words, "method": "t2i", "subsample": column.options.get("subsample", scale.shots)}
    method = Facts.of(row.options["method"])
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
