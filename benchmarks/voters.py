"""What the encoder that selects is worth where the provider is ideal: ``python -m benchmarks.voters --cache DIR``.

Datasets of ``benchmarks.usefulness.runs``, of ten shots: the provider has unlabelled real images of the private set, or
is the bundled model, asked by the classes' own names. Judged by linear heads on a SqueezeNet, which never votes.
*Closed*: the share of the way from chance to the ten shots. It writes docs/results/voters.json and prints tables; what
is cut off goes on where it was. ``benchmarks.library`` has the same of a library of public images.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.judges import load_onnx
from benchmarks.library.judges import Remembering
from benchmarks.private_sets import available
from benchmarks.release.data import interval
from benchmarks.release.seen import arguments
from benchmarks.rows import Row, resume_in_steps, table
from benchmarks.split import SETS
from benchmarks.usefulness.runs import HEAD, SETS_TRIED, Dataset, Draw, Eyes, find_share, run
from pcevolve.public.encoders import BUNDLED, JOINED

VOTERS = (BUNDLED, JOINED)
PROVIDERS = ("real", "bundled")
EPSILONS = (10, 2)
SHOTS = 10


def main() -> None:
    """Measure what is missing, write, and print."""
    given = arguments(__doc__, seeds=10)
    torch.set_num_threads(1)
    look = load_onnx(HEAD)
    assert look is not None, "PCEVOLVE_BENCH_DATA names no weights of the judge"
    head = Remembering(look, given.cache / f"{HEAD}.npz")
    eyes = {voter: Eyes.of(voter, head, given.cache) for voter in VOTERS}
    cases = [
        Dataset(name, SHOTS, source, seed, voter, epsilon)
        for source in PROVIDERS
        for seed in range(given.seeds)
        for name in given.sets
        if name in SETS_TRIED and available(name)
        for voter in VOTERS
        for epsilon in EPSILONS
    ]
    steps = {each.step: partial(measure, each, eyes[each.voter], given.cache) for each in cases}
    try:
        rows = resume_in_steps(given.cache / "voters.jsonl", steps)
    finally:
        for each in eyes.values():
            each.keep()
    (given.out / "voters.json").write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    print("\n".join(pages(rows)))


def measure(case: Dataset, eyes: Eyes, folder: Path) -> list[Row]:
    """A row of one run."""
    drawn = Draw.of(case.set, case.shots, case.seed)
    return [{**asdict(case), "closed": find_share(HEAD, run(case, drawn, eyes, folder), drawn, case, eyes)}]


def pages(rows: Sequence[Row]) -> Iterator[str]:
    """A table for each provider and epsilon: a row for each set, a column for each voter."""
    for source in PROVIDERS:
        for epsilon in EPSILONS:
            here = [row for row in rows if (row["source"], row["epsilon"]) == (source, epsilon)]
            if here:
                yield table(
                    [f"{source}, epsilon {epsilon}", *VOTERS, "joined ahead of bundled"], _lines(here)
                )


def _lines(rows: Sequence[Row]) -> Iterator[list[str]]:
    closed = {(row["set"], row["voter"], row["seed"]): row["closed"] for row in rows}
    names, seeds = dict.fromkeys(row["set"] for row in rows), sorted({row["seed"] for row in rows})
    means, leads = [], []
    for name in names:
        own = {voter: [closed[name, voter, seed] for seed in seeds] for voter in VOTERS}
        lead = np.subtract(own[JOINED], own[BUNDLED])
        means.append([np.mean(each) for each in own.values()])
        leads.append(float(lead.mean()))
        yield [SETS[name].title, *map(_spell, own.values()), _spell(lead.tolist())]
    yield ["**mean**", *(f"{each:.2f}" for each in np.mean(means, axis=0)), _spell(leads)]


def _spell(values: Sequence[float]) -> str:
    mean, half = interval(values) if len(values) > 1 else (values[0], float("nan"))
    return f"{mean:.2f} ± {half:.2f}"


if __name__ == "__main__":
    main()
