"""Measure what rounds of variation add over selection alone, at every schedule tried, on sets that may be tuned on.

    .venv/bin/python -m benchmarks.evolution --seeds 10

`select 4` is the default: 4 N text-to-image candidates per class, of which the release selects N. Its rows and the
yardsticks' are those of `make bench-selectors`, out of selectors.json in the folder of results. `select 5`, `7` and
`10` buy more. With T rounds, the ten best of each class are varied N times a round, at strengths that fall, and N are
selected from all. `developed`: prototypes go back in the released appearance, which would be a fourth reason to leave;
here it is tried without a gate.

It continues where it was cut off, and writes docs/results/evolution.{md,json}.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.evolution.page import WORLDS, page
from benchmarks.private_sets import draw
from benchmarks.rows import measure_and_write, options
from benchmarks.selectors.design import Trial
from benchmarks.selectors.local import LocalGenerator
from benchmarks.selectors.trial import Watch, make_plan, model, ran, scores
from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.modality.images.appearance import Appearance, develop, find_released_appearance
from pcevolve.public.release import Receipt

ROUNDS: dict[str, Any] = {"iterations": 3, "strengths": (0.6, 0.5, 0.4)}
SCHEDULES: dict[str, tuple[dict[str, Any], bool]] = {
    "select 5": ({"initial": 5}, False),
    "select 7": ({"initial": 7}, False),
    "select 10": ({"initial": 10}, False),
    "T = 1, strength 0.6": ({"iterations": 1, "strengths": (0.6,)}, False),
    "T = 3, strengths 0.6 to 0.4": (ROUNDS, False),
    "T = 3, developed": (ROUNDS, True),
}
"""What is changed in the default's plan, and whether prototypes are developed."""
EQUAL = ("select 7", "T = 3, strengths 0.6 to 0.4", "T = 3, developed", "select 5", "T = 1, strength 0.6")
"""Those with one beside them that buys equally many images; they are measured first."""


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
        return develop(self.made[source], self.look)

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
        self._generator.look = find_released_appearance(tuple(self._receipts))


def measure(world: str, seed: int, name: str, pictures: Path) -> dict[str, object]:
    """One run of one schedule."""
    changes, develops = SCHEDULES[name]
    trial = Trial(world, "dp-means", "10", 10, seed)
    private, _ = draw(world, trial.shots, seed)
    plan, method = make_plan(trial, private.labels)
    initial = changes.get("initial", method.initial) * trial.candidates
    plan = plan.model_validate({**plan.model_dump(), **changes, "initial": initial})
    generator = Developing(plan, model(), pictures)
    watch = Telling(generator) if develops else Watch()
    evolved = ran(plan, method, private, generator, SeededNoise(seed), watch)
    look = find_released_appearance(evolved.receipts)
    made = [
        (develop(generator.received(each.digest), look), target, each.iteration)
        for target, label in enumerate(plan.labels)
        for each in evolved.dataset[label]
    ]
    found = scores(trial, [each[0] for each in made], np.array([each[1] for each in made]))
    rounds = [sum(each[2] == iteration for each in made) for iteration in range(plan.iterations + 1)]
    about = {"world": world, "seed": seed, "schedule": name, "images": watch.images, "of_round": rounds}
    return {**about, "verdicts": found["verdicts"]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write."""
    given = options(__doc__, seeds=10).parse_args(arguments)
    measure_and_write(
        given,
        "evolution",
        lambda known: _list_missing(known, given.seeds),
        measure,
        lambda rows: page(rows, given.out, given.seeds),
    )


def _list_missing(rows: Sequence[dict[str, Any]], seeds: int) -> Iterator[tuple[str, int, str]]:
    known = {(row["world"], row["seed"], row["schedule"]) for row in rows}
    rest = tuple(name for name in SCHEDULES if name not in EQUAL)
    yield from (
        (world, seed, name)
        for names in (EQUAL, rest)
        for seed in range(seeds)
        for world in WORLDS
        for name in names
        if (world, seed, name) not in known
    )


if __name__ == "__main__":
    main()
