"""What the encoder that selects is worth where the provider is ideal: ``python -m benchmarks.voters --cache DIR``.

Candidates are unlabelled real images of the private set, the same for every class; 20 images per class are selected
by ten shots (``dp-means``, images as they come, replace-one, delta 1e-5), and judged by linear heads on a SqueezeNet,
which never votes. *Closed*: the share of the way from chance to the ten shots. It writes docs/results/voters.{md,json};
what is cut off goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks.judges import Look, load_onnx
from benchmarks.release.data import SHOTS, RealSet, embed_once, interval, list_development_sets
from benchmarks.release.seen import Draw, arguments, measure_head, repeat_classes
from benchmarks.rows import Row, resume_in_steps, table
from benchmarks.split import SETS
from benchmarks.usefulness.cases import PICKED, share_of_way, spend
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import BUNDLED, JOINED, MOBILENET, load_encoder
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means

VOTERS = (BUNDLED, MOBILENET, JOINED)
JUDGE = "squeezenet"
EPSILONS = (10, 2)


def main() -> None:
    """Measure what is missing, and write."""
    given = arguments(__doc__, seeds=10)
    sets = list_development_sets(given.sets)
    steps = {
        f"{name}, {voter}, seed {seed}": partial(measure, name, sets[name], voter, seed, given.cache)
        for seed in range(given.seeds)
        for name in sets
        for voter in VOTERS
    }
    rows = resume_in_steps(given.cache / "voters.jsonl", steps)
    (given.out / "voters.json").write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    (given.out / "voters.md").write_text(page(rows))


def measure(name: str, real: RealSet, voter: str, seed: int, folder: Path) -> list[Row]:
    """A row for each epsilon."""
    look = _load_judge()
    seen = embed_once(voter, real.images, load_encoder(voter).embed, folder)
    judged = embed_once(JUDGE, real.images, look, folder)
    draw = Draw.of(real.targets, seed)
    classes = int(real.targets.max()) + 1
    pool = seen[draw.unlabelled]
    labels = tuple(map(str, range(classes)))
    scene = SelectionInput(
        labels, (pool,) * classes, PICKED, SHOTS, 1, 0, seed, "replace-one", public=load_encoder(voter).frame
    )
    private = PrivateEmbeddings(seen[draw.shots], real.targets[draw.shots], np.arange(len(draw.shots)))
    truth = real.targets[draw.test]
    shots = measure_head(judged[draw.shots], real.targets[draw.shots], judged[draw.test], truth)
    rows = []
    for epsilon in EPSILONS:
        measured = Means().measure(private, scene, spend(epsilon), SeededNoise(seed))
        made = [judged[draw.unlabelled][chosen] for chosen in Means().pick(measured, scene)]
        found = measure_head(np.concatenate(made), repeat_classes(made), judged[draw.test], truth)
        closed = share_of_way(found, shots, classes)
        rows.append(
            {"set": name, "voter": voter, "seed": seed, "epsilon": epsilon, "closed": round(closed, 4)}
        )
    return rows


@cache
def _load_judge() -> Look:
    look = load_onnx(JUDGE)
    assert look is not None, "PCEVOLVE_BENCH_DATA names no weights of the judge"
    return look


def page(rows: Sequence[Row]) -> str:
    """A table for each epsilon: a row for each set, a column for each voter."""
    return "\n".join(
        [
            HEADER,
            *(f"## epsilon {each}\n\n{table(['set', *VOTERS], _lines(rows, each))}" for each in EPSILONS),
        ]
    )


def _lines(rows: Sequence[Row], epsilon: int) -> Iterator[list[str]]:
    here = [row for row in rows if row["epsilon"] == epsilon]
    names = list(dict.fromkeys(row["set"] for row in here))
    means = {
        (name, voter): [row["closed"] for row in here if (row["set"], row["voter"]) == (name, voter)]
        for name in names
        for voter in VOTERS
    }
    for name in names:
        yield [SETS[name].title, *(_spell(means[name, voter]) for voter in VOTERS)]
    yield [
        "**mean**",
        *(f"{np.mean([np.mean(means[name, voter]) for name in names]):.2f}" for voter in VOTERS),
    ]


def _spell(values: Sequence[float]) -> str:
    mean, half = interval(values) if len(values) > 1 else (values[0], float("nan"))
    return f"{mean:.2f} ± {half:.2f}"


HEADER = """# Encoders that select

Written by `python -m benchmarks.voters`: share of the way from chance to the ten shots, mean ± half of a 95 % interval.
"""

if __name__ == "__main__":
    main()
