"""Measure varied prompts against varied images where a class's name says nothing to the provider.

    .venv/bin/python -m benchmarks.prompt_variation --seeds 10

Classes are called "type A", "type B" and so on, and every class has the same list of prompts, one for each word that
somebody might try: the private images have to find theirs. `template` asks with the class's name alone; `images varied`
has the prompts for the first images and varies prototypes by image; `prompts varied` by prompt.

It continues where it was cut off, and writes docs/results/prompts.{md,json}.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.private_sets import draw
from benchmarks.rows import measure_and_write, options, summary, table
from benchmarks.selectors.grid import NEAREST_MEAN, RANDOM_PHASE, Trial
from benchmarks.selectors.local import LocalGenerator
from benchmarks.selectors.trial import make_plan, model
from benchmarks.selectors.ways import (
    JUDGES,
    YARDSTICKS,
    evolve_and_score,
    group_by_way,
    list_accuracies,
    list_missing,
    read_standing_rows,
)
from benchmarks.split import SETS
from pcevolve.public.canonical import drop_unused
from pcevolve.public.fields import PlanFields
from pcevolve.public.plan import PublicPlan
from pcevolve.public.words import TEMPLATE, fill

WORDS = {
    "digits:3,5,8": tuple(f"digit {k}" for k in range(10)),
    "blood:platelet,red blood cells,single red blood cell,white blood cell": (
        "platelet", "red blood cells", "single red blood cell", "white blood cell", "parasite", "bacteria", "dust",
        "empty field",
    ),
    "steel:crazing,patches,scratches": (
        "crazing", "patches", "scratches", "inclusion", "pitted surface", "rolled-in scale", "rust", "dents",
    ),
}  # fmt: skip
"""What somebody might try, by set; the classes' own names are among them."""


@dataclass(frozen=True)
class Way:
    """How a class without a name is asked for.

    Attributes:
        method: Of selection.
        iterations: Rounds of variation.
        has_prompts: Whether every class has the list.
        vary_by: What goes back.
    """

    method: str
    iterations: int
    has_prompts: bool
    vary_by: str = "image"


WAYS = {
    "t2i, template": Way("t2i", 0, False),
    "t2i, prompts": Way("t2i", 0, True),
    "pe, template": Way("pe", 3, False),
    "pe, prompts, images varied": Way("pe", 3, True),
    "pe, prompts varied": Way("pe", 3, True, "prompt"),
    "dp-means, template": Way("dp-means", 2, False),
    "dp-means, prompts, images varied": Way("dp-means", 2, True),
    "dp-means, prompts varied": Way("dp-means", 2, True, "prompt"),
}
NAMELESS = (RANDOM_PHASE, NEAREST_MEAN, "shots")
"""Yardsticks to which the classes' names are nothing."""


def measure(world: str, seed: int, name: str, pictures: Path) -> dict[str, object]:
    """One run in one way."""
    way = WAYS[name]
    trial = Trial(world, way.method, "10", 10, seed, iterations=way.iterations)
    named, _ = draw(world, trial.shots, seed)
    private = dataclasses.replace(
        named, labels=tuple(f"type {chr(ord('A') + k)}" for k in range(len(named.labels)))
    )
    plan, method = make_plan(trial, private.labels)
    plan = _word(plan, world, way)
    generator = LocalGenerator(plan, model(), pictures)
    found, made = evolve_and_score(trial, plan, method, private, generator)
    own = [
        generator.wordings.get(each.id) == WORDS[world].index(named.labels[target]) for each, target in made
    ]
    by_image = way.iterations and way.vary_by == "image"
    right = float(np.mean(own)) if way.has_prompts and not by_image else None
    return {"world": world, "seed": seed, "way": name, "right": right, **found}


def _word(plan: PublicPlan, world: str, way: Way) -> PublicPlan:
    if not way.has_prompts:
        return plan
    own = tuple(fill(TEMPLATE, SETS[world].domain, word) for word in WORDS[world])
    values = plan.model_dump()
    values["provider"]["prompts"] = (own,) * len(plan.labels)
    values["method"] |= {"vary_by": way.vary_by, "vary_with": "template"}
    if way.vary_by == "prompt":
        values["method"]["strengths"] = ()
    return PublicPlan.model_validate(drop_unused(values, PlanFields.model_validate(values)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write."""
    given = options(__doc__, seeds=10).parse_args(arguments)
    measure_and_write(
        given,
        "prompts",
        lambda known: list_missing(known, given.seeds, WORDS, WAYS),
        measure,
        lambda rows: page(rows, given.out, given.seeds),
    )


HEADER = """# Varying prompts instead of images

Written by `python -m benchmarks.prompt_variation`: accuracies on held-out real images (%, mean ± standard error over
seeds, each another draw of the shots, other candidates and other noise), ε = 10, ten shots, N = 40, bundled generator,
on sets that may be tuned on. Classes are called "type A", "type B" and so on, which says nothing to the provider.
`template` asks with that name alone. In the others every class has the same list of prompts, eight or ten words that
somebody might try, the right one among them; `prompts varied` sends no image back. Rows of a method ask
for equally many images. `own word`: share of the dataset that was made with the class's own word; luck is a tenth or an
eighth. The mean is over the three judges that did not vote; the last column's encoder **voted**. The last three rows
ask no generator, and are those of [the comparison of selectors](worth.md); `t2i` is the control, for without
private images every word is drawn as often.
"""


def page(rows: Sequence[dict[str, Any]], results: Path, seeds: int) -> str:
    """The tables.

    Args:
        rows: What was measured.
        results: Folder of ``selectors.json``, which has the yardsticks.
        seeds: How many of the yardsticks' to show.
    """
    parts = [HEADER]
    for world in WORDS:
        groups = group_by_way(rows, world)
        heads = ["way", "seeds", "API images", "own word, %", "mean", *JUDGES.values()]
        lines = [_line(name, groups[name]) for name in WAYS if groups[name]]
        beside = read_standing_rows(results, world, NAMELESS, seeds)
        lines += [_line(YARDSTICKS[method], found) for method, found in beside.items() if found]
        parts.append(f"## {SETS[world].title}\n\n{table(heads, lines)}")
    return "\n".join(parts)


def _line(name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    found = list_accuracies(rows)
    right = [row["right"] for row in rows if row.get("right") is not None]
    cells = [
        name,
        str(len(rows)),
        str(rows[0].get("images", 0)),
        summary(np.array(right) * 100) if right else "–",
    ]
    return [*cells, summary(found[:, :-1].mean(axis=1)), *(summary(column) for column in found.T)]


if __name__ == "__main__":
    main()
