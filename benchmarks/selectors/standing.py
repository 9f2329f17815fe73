"""Rows of the comparison of selectors that other pages show beside their own: its default, and its yardsticks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from benchmarks.rows import Row
from benchmarks.selectors.design import NEAREST_MEAN, RANDOM_PHASE
from benchmarks.selectors.grid import CHOSEN_EPSILON, CHOSEN_SHOTS, usual

YARDSTICKS = {
    "t2i": "`t2i`, nothing private",
    "random": "`random`, the control",
    RANDOM_PHASE: "random phases under a released spectrum",
    NEAREST_MEAN: "nearest released mean, no images",
    "shots": "the ten shots, not private",
}
"""Methods by what tables call them."""


def standing_rows(results: Path, world: str, methods: Iterable[str], seeds: int) -> dict[str, list[Row]]:
    """Return the rows of methods at ten shots and ε = 10.

    Args:
        results: Folder of ``selectors.json``.
        world: Which private data.
        methods: Of the comparison, yardsticks among them.
        seeds: The first so many.

    Returns:
        By method the rows, one a seed, of seeds that were measured.
    """
    known = _rows(results / "selectors.json")
    keys = {
        method: [usual(world, method, CHOSEN_EPSILON, CHOSEN_SHOTS, seed).key for seed in range(seeds)]
        for method in methods
    }
    return {method: [known[key] for key in found if key in known] for method, found in keys.items()}


@cache
def _rows(file: Path) -> dict[str, Row]:
    """All rows of the comparison by their keys; some megabytes, read once."""
    return {row["key"]: row for row in json.loads(file.read_text())}
