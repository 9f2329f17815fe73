"""Ways of evolving that are compared by whole runs: a row for each private set, seed and way."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.rows import Row, accuracy
from benchmarks.selectors.grid import CHOSEN_EPSILON, CHOSEN_SHOTS, NEAREST_MEAN, RANDOM_PHASE, Trial, usual
from benchmarks.selectors.local import LocalGenerator
from benchmarks.selectors.trial import Watch, ran, scores
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.media.images.appearance import develop, find_released_appearance
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate
from pcevolve.public.selectors.method import Method

JUDGES = {"cnn": "CNN", "mobilenet": "MobileNet", "squeezenet": "SqueezeNet", "bundled": "bundled: **voted**"}
"""Columns by judge; the last voted."""


def evolve_and_score(
    trial: Trial, plan: PublicPlan, method: Method, private: PrivateDataset, generator: LocalGenerator
) -> tuple[Row, list[tuple[Candidate, int]]]:
    """Carry out a plan and judge its dataset.

    Returns:
        How many images were asked for and what the judges say, and the dataset, each candidate with its class.
    """
    watch = Watch()
    images, made = make_dataset(trial.seed, plan, method, private, generator, watch)
    found = scores(trial, images, np.array([target for _, target in made]))
    return {"images": watch.images, "verdicts": found["verdicts"]}, made


def make_dataset(
    seed: int,
    plan: PublicPlan,
    method: Method,
    private: PrivateDataset,
    generator: LocalGenerator,
    watch: Watch,
) -> tuple[list[Image.Image | None], list[tuple[Candidate, int]]]:
    """Carry out a plan; the images of its dataset in the released appearance, and each candidate with its class."""
    evolved = ran(plan, method, private, generator, SeededNoise(seed), watch)
    look = find_released_appearance(evolved.receipts)
    made = [(each, target) for target, label in enumerate(plan.labels) for each in evolved.dataset[label]]
    return [develop(generator.received(each.digest), look) for each, _ in made], made


def list_accuracies(rows: Sequence[Row]) -> np.ndarray:
    """Accuracies in percent, float ``(rows, judges)``, in the order of ``JUDGES``; NaN of one that was not asked."""
    return 100 * np.array([[accuracy(row, judge) for judge in JUDGES] for row in rows], dtype=float)


def list_missing(
    rows: Sequence[Row], seeds: int, worlds: Iterable[str], ways: Iterable[str]
) -> Iterator[tuple[str, int, str]]:
    """Yield private set, seed and way of each run that has no row, all of a seed together."""
    known = {(row["world"], row["seed"], row["way"]) for row in rows}
    every = ((world, seed, way) for seed in range(seeds) for world in worlds for way in ways)
    yield from (each for each in every if each not in known)


def group_by_way(rows: Sequence[Row], world: str) -> dict[str, list[Row]]:
    """Return the rows of a private set by way."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["world"] == world:
            groups[row["way"]].append(row)
    return groups


YARDSTICKS = {
    "t2i": "`t2i`, nothing private",
    "random": "`random`, the control",
    RANDOM_PHASE: "random phases under a released spectrum",
    NEAREST_MEAN: "nearest released mean, no images",
    "shots": "the ten shots, not private",
}
"""Methods by what tables call them."""


def read_standing_rows(results: Path, world: str, methods: Iterable[str], seeds: int) -> dict[str, list[Row]]:
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
