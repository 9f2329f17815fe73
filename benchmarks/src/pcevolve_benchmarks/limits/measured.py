"""Figures of the comparison of selectors: methods beside blind draws, paired by private set and seed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from pcevolve.errors import DataError
from pcevolve.public.pages.report.charts import FigureOverSeeds

CONTROL = "random"
COMPARED = ("pcevolve", "pe", "dp-means")
Row = Mapping[str, Any]
Key = tuple[str, int]
"""Private set and seed."""
SAME_SOURCE = {"marks": "digits"}
"""Private sets whose images are another's, under names that say nothing."""


def read_measured(folder: Path) -> tuple[list[Row], Row]:
    """The comparison of selectors, and what ``pcevolve-bench table figure7`` printed last.

    Args:
        folder: Of ``selectors.json`` and ``figure7.json``.

    Raises:
        DataError: One of them is not there, or is no JSON.
    """
    try:
        rows, by_iteration = (
            json.loads((folder / f"{name}.json").read_text()) for name in ("selectors", "figure7")
        )
    except (OSError, ValueError):
        raise DataError(f"{folder} has no selectors.json and figure7.json, which --measured names") from None
    return rows, by_iteration


def gain(rows: Sequence[Row], method: str, other: str = CONTROL) -> FigureOverSeeds:
    """Accuracy less that of another method, in points, by judges that did not vote; the interval is over sources.

    Raises:
        DataError: No row of the method has one of the other's beside it.
    """
    own, beside = _usual(rows, method), _usual(rows, other)
    pairs = (
        (key, 100 * (_accuracy(row) - _accuracy(beside[key]))) for key, row in own.items() if key in beside
    )
    return _over_sources(pairs, method)


def measure_first_choice(rows: Sequence[Row], method: str) -> FigureOverSeeds:
    """Share of the first round's prototypes that are of the best tenth, in percent: nearest to held-out images.

    Raises:
        DataError: There is no row of the method.
    """
    found = _usual(rows, method).items()
    return _over_sources(((key, 100 * row["best_tenth"]) for key, row in found), method)


def count_classes(rows: Sequence[Row]) -> list[int]:
    """C of each private set; its name lists the classes."""
    return [world.partition(":")[2].count(",") + 1 for world in sorted({row["world"] for row in rows})]


def _usual(rows: Sequence[Row], method: str) -> dict[Key, Row]:
    """Rows of a method as the comparison runs it, at ten shots and ε = 10."""
    wanted = {
        "method": method,
        "epsilon": "10",
        "shots": 10,
        "noise": True,
        "appearance": None,
        "initial": None,
    }
    return {
        (row["world"], row["seed"]): row
        for row in rows
        if all(row[name] == value for name, value in wanted.items())
    }


def _accuracy(row: Row) -> float:
    return fmean(each["accuracy"] for each in row["verdicts"] if not each["voted"])


def name_source(world: str) -> str:
    """Where a private set's images come from: sets of one source are no independent draws."""
    kind = world.partition(":")[0]
    return SAME_SOURCE.get(kind, kind)


def _over_sources(figures: Iterable[tuple[Key, float]], method: str) -> FigureOverSeeds:
    """The mean over sources of the means of their sets."""
    by_source: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (world, _), figure in figures:
        by_source[name_source(world)][world].append(figure)
    if not by_source:
        raise DataError(f"the rows have none of '{method}' at ten shots and epsilon 10")
    return FigureOverSeeds.of([fmean(map(fmean, sets.values())) for sets in by_source.values()])
