"""What rounds of variation add over selection alone, at every schedule tried, on sets that may be tuned on.

    .venv/bin/python -m benchmarks.evolution --seeds 3

`select 4` is the default: 4 N text-to-image candidates per class, of which the release selects N; `select 7` and
`10` buy more. With T rounds, the ten best of each class are varied N times a round, at strengths that fall, and N
are selected from all. `developed`: prototypes go back in the released appearance, which would be a fourth reason to
leave; here it is tried without a gate.

It continues where it was cut off, and writes docs/results/evolution.{md,json}.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from benchmarks.private_sets import drawn
from benchmarks.rows import accuracy, options, summary, table, written
from benchmarks.selectors.design import Trial
from benchmarks.selectors.local import LocalGenerator
from benchmarks.selectors.trial import Watch, model, planned, ran, scores
from benchmarks.split import SETS
from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.modality.images.appearance import Appearance, appearance_in, developed
from pcevolve.public.release import Receipt

WORLDS = (
    "steel:crazing,patches,scratches",
    "blood:platelet,red blood cells,single red blood cell,white blood cell",
    "xray:normal,pneumonia",
    "machine:intact surface,pitting defect",
    "digits:3,5,8",
)
ROUNDS: dict[str, Any] = {"iterations": 3, "strengths": (0.6, 0.5, 0.4)}
SCHEDULES: dict[str, tuple[dict[str, Any], bool]] = {
    "select 4": ({}, False),
    "select 7": ({"initial": 7}, False),
    "select 10": ({"initial": 10}, False),
    "T = 1, strength 0.6": ({"iterations": 1, "strengths": (0.6,)}, False),
    "T = 3, strengths 0.6 to 0.4": (ROUNDS, False),
    "T = 3, developed": (ROUNDS, True),
}
"""What is changed in the default's plan, and whether prototypes are developed."""
JUDGES = {"cnn": "CNN", "mobilenet": "MobileNet", "squeezenet": "SqueezeNet", "bundled": "bundled: **voted**"}


@dataclass
class Developing(LocalGenerator):
    """Varies prototypes in the appearance that was released; without one, as they came.

    Attributes:
        look: What was released, once it was.
    """

    look: Appearance | None = None

    def _image(self, source: str | None) -> Image.Image | None:
        if source is None or self.look is None:
            return super()._image(source)
        return developed(self.made[source], self.look)

    def _shared(self, strength: float | None, prompt: str, seed: int, source: str | None) -> Path | None:
        place = super()._shared(strength, prompt, seed, source)
        if place is None or source is None or self.look is None:
            return place
        return place.with_name(hashlib.sha256(f"{place.name}/{self.look}".encode()).hexdigest())


class Telling(Watch):
    """Tells the generator what was released."""

    def __init__(self, generator: Developing) -> None:
        super().__init__()
        self._generator, self._receipts = generator, list[Receipt]()

    def released(self, receipt: Receipt) -> None:
        """Take its appearance."""
        self._receipts.append(receipt)
        self._generator.look = appearance_in(tuple(self._receipts))


def measured(world: str, seed: int, name: str, pictures: Path) -> dict[str, object]:
    """One run of one schedule."""
    changes, develops = SCHEDULES[name]
    trial = Trial(world, "dp-means", "10", 10, seed)
    private, _ = drawn(world, trial.shots, seed)
    plan, method = planned(trial, private.labels)
    initial = changes.get("initial", method.initial) * trial.candidates
    plan = plan.model_validate({**plan.model_dump(), **changes, "initial": initial})
    generator = Developing(plan, model(), pictures)
    watch = Telling(generator) if develops else Watch()
    evolved = ran(plan, method, private, generator, SeededNoise(seed), watch)
    look = appearance_in(evolved.receipts)
    made = [
        (developed(generator.received(each.digest), look), target, each.iteration)
        for target, label in enumerate(plan.labels)
        for each in evolved.dataset[label]
    ]
    found = scores(trial, [each[0] for each in made], np.array([each[1] for each in made]))
    rounds = [sum(each[2] == iteration for each in made) for iteration in range(plan.iterations + 1)]
    about = {"world": world, "seed": seed, "schedule": name, "images": watch.images, "of_round": rounds}
    return {**about, "verdicts": found["verdicts"]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write."""
    given = options(__doc__, seeds=3).parse_args(arguments)
    torch.set_num_threads(1)
    given.pictures.mkdir(parents=True, exist_ok=True)
    written(
        given.out,
        "evolution",
        lambda known: _missing(known, given.seeds),
        lambda wanted: measured(*wanted, given.pictures),
        page,
    )


def _missing(rows: Sequence[dict[str, Any]], seeds: int) -> Iterator[tuple[str, int, str]]:
    known = {(row["world"], row["seed"], row["schedule"]) for row in rows}
    for seed in range(seeds):
        for world in WORLDS:
            for name in SCHEDULES:
                if (world, seed, name) not in known:
                    yield world, seed, name


HEADER = """# What rounds add over selection

Written by `python -m benchmarks.evolution`: accuracies on held-out real images (%, mean ± standard error over
seeds, each another draw of the shots, other candidates and other noise) of datasets of the default method under
other schedules, ε = 10, ten shots, N = 40, on sets that may be tuned on. `select 4` is the default; API images are
per class. The last column's encoder **voted**. The mean is over the three judges that did not.
"""


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The tables."""
    parts = [HEADER, _paired(rows)]
    for world in WORLDS:
        groups = defaultdict(list)
        for row in rows:
            if row["world"] == world:
                groups[row["schedule"]].append(row)
        heads = ["schedule", "seeds", "API images", "mean", *JUDGES.values()]
        lines = [_line(name, groups[name], world) for name in SCHEDULES if groups[name]]
        parts.append(f"## {SETS[world].title}\n\n{table(heads, lines)}")
    return "\n".join(parts)


PAIRS = (
    ("select 10", "select 4"),
    ("T = 1, strength 0.6", "select 4"),
    ("T = 3, strengths 0.6 to 0.4", "select 4"),
    ("T = 3, strengths 0.6 to 0.4", "select 7"),
    ("T = 3, developed", "select 7"),
    ("T = 3, developed", "T = 3, strengths 0.6 to 0.4"),
)


def _paired(rows: Sequence[dict[str, Any]]) -> str:
    """Differences within a set and a seed, over all of them; three rounds buy as many images as ``select 7``."""
    found = {(row["world"], row["seed"], row["schedule"]): row for row in rows}
    lines = []
    for first, second in PAIRS:
        both = [
            (row, found[world, seed, second])
            for (world, seed, name), row in found.items()
            if name == first and (world, seed, second) in found
        ]
        apart = np.array([_accuracies(one) - _accuracies(other) for one, other in both]) * 100
        cells = [summary(apart[:, :-1].mean(axis=1)), summary(apart[:, 0])]
        lines.append([f"{first} − {second}", str(len(both)), *cells])
    return f"## All sets, in pairs\n\n{table(['difference, points', 'pairs', 'mean', 'CNN'], lines)}"


def _accuracies(row: dict[str, Any]) -> np.ndarray:
    """By judge, in the order of the columns; NaN of one that was not asked."""
    return np.array([accuracy(row, judge) for judge in JUDGES], dtype=float)


def _line(name: str, rows: Sequence[dict[str, Any]], world: str) -> list[str]:
    found = np.array([_accuracies(row) for row in rows]) * 100
    classes = len(world.partition(":")[2].split(","))
    cells = [name, str(len(rows)), str(rows[0]["images"] // classes), summary(found[:, :-1].mean(axis=1))]
    return [*cells, *(summary(column) for column in found.T)]


if __name__ == "__main__":
    main()
