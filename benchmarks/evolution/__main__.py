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
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.private_sets import draw
from benchmarks.rows import Row, measure_and_write, options, summary, table
from benchmarks.selectors.grid import Trial
from benchmarks.selectors.local import LocalGenerator
from benchmarks.selectors.trial import Watch, make_plan, model, scores
from benchmarks.selectors.ways import JUDGES, YARDSTICKS, list_accuracies, make_dataset, read_standing_rows
from benchmarks.split import SETS
from pcevolve.public.media.images.appearance import Appearance, develop, find_released_appearance
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
    images, made = make_dataset(seed, plan, method, private, generator, watch)
    found = scores(trial, images, np.array([target for _, target in made]))
    rounds = [sum(each.iteration == place for each, _ in made) for place in range(plan.method.iterations + 1)]
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


WORLDS = (
    "steel:crazing,patches,scratches",
    "blood:platelet,red blood cells,single red blood cell,white blood cell",
    "xray:normal,pneumonia",
    "machine:intact surface,pitting defect",
    "digits:3,5,8",
)
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
        others = read_standing_rows(results, world, ("dp-means", *YARDSTICKS), seeds)
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
        apart = np.array([each for groups in found.values() for each in _apart(groups, first, second)])
        if len(apart):
            cells = [summary(apart[:, :-1].mean(axis=1)), summary(apart[:, 0])]
            lines.append([f"{first} − {second}", str(len(apart)), *cells])
    return f"## All sets, in pairs\n\n{table(['difference, points', 'pairs', 'mean', 'CNN'], lines)}"


def _apart(groups: dict[str, list[Row]], first: str, second: str) -> list[np.ndarray]:
    """Of each seed that both have, by judge."""
    other = {row["seed"]: row for row in groups[second]}
    return [
        np.subtract(*list_accuracies((row, other[row["seed"]])))
        for row in groups[first]
        if row["seed"] in other
    ]


def _line(name: str, rows: Sequence[Row], classes: int) -> list[str]:
    found = list_accuracies(rows)
    cells = [summary(found[:, :-1].mean(axis=1)), *(summary(column) for column in found.T)]
    return [name, str(len(rows)), str(rows[0].get("images", 0) // classes), *cells]


if __name__ == "__main__":
    main()
