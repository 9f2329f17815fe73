"""How often is the estimate right of images, and does a second look that did not choose know better?

``python -m benchmarks.usefulness.second --cache DIR``.
``--encoder joined`` releases class means of two encoders at once. Each half picks what it alone would have picked, and
the other half checks it: the cosine between how the picks' class means differ and how its own released means do, with
the shrinking taken back. Public arithmetic on one release, at no cost.

Each dataset is one of ``runs.py``, at epsilon 10; half of the way from chance to the shots is worth it. Bounds of the
second look are chosen without the set that they are tried on. It writes docs/results/second.json and prints tables;
what is cut off goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.judges import CNN, load_onnx
from benchmarks.library.judges import Remembering
from benchmarks.private_sets import available
from benchmarks.release.seen import arguments
from benchmarks.rows import Row, resume_in_steps
from benchmarks.usefulness.cases import PICKED
from benchmarks.usefulness.runs import (
    HEAD,
    SETS_TRIED,
    SHOTS,
    SOURCES,
    Dataset,
    Draw,
    Eyes,
    find_share,
    run,
)
from benchmarks.usefulness.second_rules import VOTERS, pages
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.encoders import JOINED
from pcevolve.public.geometry.distances import squared_distances
from pcevolve.public.geometry.frame import MOST_AXES, project
from pcevolve.public.publish.usefulness import BOUNDS
from pcevolve.public.selectors.means import aims_of, rank
from pcevolve.public.selectors.selection import Measurement, SelectionInput
from pcevolve.public.selectors.sums import CentreFirst


def main() -> None:
    """Measure what is missing, and print."""
    given = arguments(__doc__, seeds=5)
    torch.set_num_threads(1)
    names = [each for each in given.sets if available(each) and each in SETS_TRIED]
    look = load_onnx(HEAD)
    assert look is not None, "PCEVOLVE_BENCH_DATA names no weights of the judge"
    head = Remembering(look, given.cache / f"{HEAD}.npz")
    eyes = {voter: Eyes.of(voter, head, given.cache) for voter in VOTERS}
    cases = [
        Dataset(name, shots, source, seed, voter)
        for seed in range(given.seeds)
        for voter in VOTERS
        for source in SOURCES
        for name in names
        for shots in SHOTS
    ]
    steps = {each.step: partial(measure, each, eyes[each.voter], given.cache) for each in cases}
    try:
        rows = resume_in_steps(given.cache / "second-runs.jsonl", steps)
        # What is far is called not useful, whatever else is said of it; the network takes longest.
        near = [row for row in rows if row["distance"] <= BOUNDS.far and CNN not in row["closed"]]
        again = [Dataset.of_row(row) for row in near]
        asked = resume_in_steps(
            given.cache / "second-network.jsonl",
            {each.step: partial(measure, each, eyes[each.voter], given.cache, CNN) for each in again},
        )
    finally:
        for each in eyes.values():
            each.keep()
    write(given.out, rows, asked)


def write(out: Path, rows: Sequence[Row], asked: Sequence[Row]) -> None:
    """Write the rows, with what the network said of some, and print the tables."""
    said = {Dataset.of_row(each): each["closed"] for each in asked}
    rows = [
        {**row, "closed": {**row["closed"], **said.get(Dataset.of_row(row), {}), "voted": False}}
        for row in rows
    ]
    (out / "second.json").write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    print("\n".join(pages(rows)))


def measure(case: Dataset, eyes: Eyes, folder: Path, by: str = HEAD) -> list[Row]:
    """Run, and have one judge say how much of the way from chance to the shots the dataset goes."""
    drawn = Draw.of(case.set, case.shots, case.seed)
    made = run(case, drawn, eyes, folder)
    found, scene = made.watch.assessed, made.watch.scene
    assert found is not None
    assert scene is not None
    row = {
        **asdict(case),
        "closed": {by: find_share(by, made, drawn, case, eyes)},
        **found.model_dump(),
        "word": found.word("image"),
    }
    if case.voter == JOINED:
        events = made.method.plan_events(made.plan)[scene.iteration]
        plain = _unshrink(made.watch.measured, scene, events)
        row["checks"] = [round(each, 4) for each in cross_check(made.watch.measured, scene, plain)]
    return [row]


def cross_check(measured: Measurement, scene: SelectionInput, released: FloatArray) -> tuple[float, float]:
    """Return how well each half of the release agrees with the picks of the other half alone, as cosines.

    Args:
        released: The class means' deviations as they were drawn, float64 ``(classes, k)``.
    """
    points = [
        project(pool[np.isfinite(pool).all(axis=1)], measured["centre"], measured["axes"])
        for pool in scene.pools
    ]
    aims, ruler = aims_of(measured), scene.ruler(measured)
    halves = slice(0, MOST_AXES), slice(MOST_AXES, None)
    found = []
    for picks, checks in (halves, halves[::-1]):
        made = []
        for target, rows in enumerate(points):
            order = rank(squared_distances(rows[:, picks], aims[:, picks]), target, ruler)
            made.append(rows[order[:PICKED]][:, checks].mean(axis=0))
        found.append(_cosine(np.stack(made), released[:, checks]))
    return found[0], found[1]


def _unshrink(measured: Measurement, scene: SelectionInput, events: tuple) -> FloatArray:
    """Deviations as they were drawn, float64 ``(classes, k)``; 0 where nothing was kept of them."""
    noisy, _, told = CentreFirst(scene.coordinates, scene, events).recover_noisy_deviations(measured)
    whole_width = np.zeros((len(noisy), len(told)))
    whole_width[:, told] = noisy
    return whole_width


def _cosine(own: FloatArray, theirs: FloatArray) -> float:
    own, theirs = own - own.mean(axis=0), theirs - theirs.mean(axis=0)
    scale = float(np.linalg.norm(own) * np.linalg.norm(theirs))
    return float((own * theirs).sum()) / scale if scale else 0.0


if __name__ == "__main__":
    main()
