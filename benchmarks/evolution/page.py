"""Writes what rounds of variation add over selection, beside the default and the yardsticks of the same seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.rows import Row, accuracy, summary, table
from benchmarks.selectors.standing import YARDSTICKS, standing_rows
from benchmarks.split import SETS

WORLDS = (
    "steel:crazing,patches,scratches",
    "blood:platelet,red blood cells,single red blood cell,white blood cell",
    "xray:normal,pneumonia",
    "machine:intact surface,pitting defect",
    "digits:3,5,8",
)
JUDGES = {"cnn": "CNN", "mobilenet": "MobileNet", "squeezenet": "SqueezeNet", "bundled": "bundled: **voted**"}
DEFAULT = "select 4"
PAIRS = (
    ("select 10", DEFAULT),
    ("T = 1, strength 0.6", DEFAULT),
    ("T = 1, strength 0.6", "select 5"),
    ("T = 3, strengths 0.6 to 0.4", DEFAULT),
    ("T = 3, strengths 0.6 to 0.4", "select 7"),
    ("T = 3, developed", "select 7"),
    ("T = 3, developed", "T = 3, strengths 0.6 to 0.4"),
)
HEADER = """# What rounds add over selection

Written by `python -m benchmarks.evolution`: accuracies on held-out real images (%, mean ± standard error over
seeds, each another draw of the shots, other candidates and other noise) of datasets of the default method under
other schedules, ε = 10, ten shots, N = 40, on sets that may be tuned on. `select 4` is the default; API images are
per class. The last column's encoder **voted**. The mean is over the three judges that did not. The default's rows and
the yardsticks are those of [the comparison of selectors](worth.md), seed by seed the same shots.
"""


def page(rows: Sequence[Row], results: Path, seeds: int) -> str:
    """The tables.

    Args:
        rows: What was measured of the schedules.
        results: Folder of ``selectors.json``, which has the rest.
        seeds: How many of the rest's to show.
    """
    found: dict[str, dict[str, list[Row]]] = {}
    for world in WORLDS:
        others = standing_rows(results, world, ("dp-means", *YARDSTICKS), seeds)
        groups = defaultdict(list, {DEFAULT: others.pop("dp-means")})
        for row in rows:
            if row["world"] == world:
                groups[row["schedule"]].append(row)
        found[world] = groups | {YARDSTICKS[method]: each for method, each in others.items()}
    return "\n".join([HEADER, _pair(found), *(_section(world, found[world]) for world in WORLDS)])


def _section(world: str, groups: dict[str, list[Row]]) -> str:
    heads = ["schedule", "seeds", "API images", "mean", *JUDGES.values()]
    classes = len(world.partition(":")[2].split(","))
    lines = [_line(name, rows, classes) for name, rows in groups.items() if rows]
    return f"## {SETS[world].title}\n\n{table(heads, lines)}"


def _pair(found: dict[str, dict[str, list[Row]]]) -> str:
    """Differences within a set and a seed, over all; one round costs what ``select 5`` costs, three ``select 7``."""
    lines = []
    for first, second in PAIRS:
        apart = np.array([each for groups in found.values() for each in _apart(groups, first, second)]) * 100
        if len(apart):
            cells = [summary(apart[:, :-1].mean(axis=1)), summary(apart[:, 0])]
            lines.append([f"{first} − {second}", str(len(apart)), *cells])
    return f"## All sets, in pairs\n\n{table(['difference, points', 'pairs', 'mean', 'CNN'], lines)}"


def _apart(groups: dict[str, list[Row]], first: str, second: str) -> list[np.ndarray]:
    """Of each seed that both have, by judge."""
    other = {row["seed"]: row for row in groups[second]}
    return [
        _accuracies(row) - _accuracies(other[row["seed"]]) for row in groups[first] if row["seed"] in other
    ]


def _accuracies(row: Row) -> np.ndarray:
    """By judge, in the order of the columns; NaN of one that was not asked."""
    return np.array([accuracy(row, judge) for judge in JUDGES], dtype=float)


def _line(name: str, rows: Sequence[Row], classes: int) -> list[str]:
    found = np.array([_accuracies(row) for row in rows]) * 100
    cells = [summary(found[:, :-1].mean(axis=1)), *(summary(column) for column in found.T)]
    return [name, str(len(rows)), str(rows[0].get("images", 0) // classes), *cells]
