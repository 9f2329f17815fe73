"""Worth of rounds where the API varies images to a degree of its own, which nobody can set or schedule.

    .venv/bin/python -m benchmarks.edit_variation --seeds 5

The bundled generator stands for such an API: its requests carry no strength, and it varies at a fixed one that it does
not tell, a low one and a high one. Beside it stand the same methods with a schedule of strengths, and two controls:
``random``, which varies what luck chose, and ``t2i``, which varies nothing.

It continues where it was cut off, and writes docs/results/edits.{md,json}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.private_sets import draw
from benchmarks.rows import measure_and_write, options, summary, table
from benchmarks.selectors.grid import Trial
from benchmarks.selectors.local import LocalGenerator
from benchmarks.selectors.trial import make_plan, model
from benchmarks.selectors.ways import JUDGES, evolve_and_score, group_by_way, list_accuracies, list_missing
from benchmarks.split import SETS
from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate

WORLDS = ("digits:3,5,8", "blood:platelet,red blood cells,single red blood cell,white blood cell")
LOW, HIGH = 0.4, 0.7


@dataclass(frozen=True)
class Way:
    """How images are chosen and varied.

    Attributes:
        method: Of selection.
        iterations: Rounds of variation.
        degree: The API's own; None where it takes strengths.
    """

    method: str
    iterations: int
    degree: float | None = None


WAYS = {
    "t2i (control)": Way("t2i", 0),
    f"random, own degree {HIGH:g} (control)": Way("random", 3, HIGH),
    f"pe, own degree {LOW:g}": Way("pe", 3, LOW),
    f"pe, own degree {HIGH:g}": Way("pe", 3, HIGH),
    "pe, strengths": Way("pe", 3),
    f"dp-means, own degree {LOW:g}": Way("dp-means", 2, LOW),
    f"dp-means, own degree {HIGH:g}": Way("dp-means", 2, HIGH),
    "dp-means, strengths": Way("dp-means", 2),
}


@dataclass
class EditGenerator(LocalGenerator):
    """A generator that is asked for no strength and varies to a degree of its own."""

    degree: float = LOW

    def _name(self, call: Call, parent: Candidate | None) -> tuple[Candidate, ...]:
        assert call.strength is None
        return super()._name(call if parent is None else replace(call, strength=self.degree), parent)


def measure(world: str, seed: int, name: str, pictures: Path) -> dict[str, object]:
    """One run in one way."""
    way = WAYS[name]
    trial = Trial(world, way.method, "10", 10, seed, iterations=way.iterations)
    private, _ = draw(world, trial.shots, seed)
    plan, method = make_plan(trial, private.labels)
    if way.degree is None:
        generator = LocalGenerator(plan, model(), pictures)
    else:
        plan = _without_strengths(plan)
        generator = EditGenerator(plan, model(), pictures, degree=way.degree)
    found, _ = evolve_and_score(trial, plan, method, private, generator)
    return {"world": world, "seed": seed, "way": name, **found}


def _without_strengths(plan: PublicPlan) -> PublicPlan:
    modality = plan.images.model_copy(update={"graded": False})
    return PublicPlan.model_validate(
        {**plan.model_dump(), "modality": modality.model_dump(), "strengths": ()}
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write."""
    given = options(__doc__, seeds=5).parse_args(arguments)
    measure_and_write(
        given, "edits", lambda known: list_missing(known, given.seeds, WORLDS, WAYS), measure, page
    )


HEADER = f"""# Evolution with an API that takes no strength

Written by `python -m benchmarks.edit_variation`: accuracies on held-out real images (%, mean ± standard error over
seeds, each another draw of the shots, other candidates and other noise), ε = 10, ten shots, bundled generator, on sets
that may be tuned on. `own degree`: the generator stands for an API that varies images at a strength that nobody can
set; {LOW:g} is a timid one, {HIGH:g} a bold one. `strengths`: the same method with its own schedule. The mean is over
the three judges that did not vote; the last column's encoder **voted**. No edit model was used: what a real one changes
in an image is another matter.
"""


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The tables, one for each set."""
    parts = [HEADER]
    for world in WORLDS:
        groups = group_by_way(rows, world)
        heads = ["way", "seeds", "API images", "mean", "over t2i", *JUDGES.values()]
        controls = {row["seed"]: _mean(row) for row in groups["t2i (control)"]}
        lines = [_line(name, groups[name], controls) for name in WAYS if groups[name]]
        parts.append(f"## {SETS[world].title}\n\n{table(heads, lines)}")
    return "\n".join(parts)


def _mean(row: dict[str, Any]) -> float:
    """Return the accuracy by the judges that did not vote, in percent."""
    return float(list_accuracies([row])[0, :-1].mean())


def _line(name: str, rows: Sequence[dict[str, Any]], controls: dict[int, float]) -> list[str]:
    gains = np.array([_mean(row) - controls[row["seed"]] for row in rows if row["seed"] in controls])
    by_judge = list_accuracies(rows)
    gain = "–" if name.startswith("t2i") else summary(gains)
    cells = [name, str(len(rows)), str(rows[0]["images"]), summary(by_judge[:, :-1].mean(axis=1)), gain]
    return [*cells, *(summary(column) for column in by_judge.T)]


if __name__ == "__main__":
    main()
