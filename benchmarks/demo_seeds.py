"""The demonstration over seeds: how far its accuracy varies, and what of that is the pool, the noise and the shots.

    .venv/bin/python -m benchmarks.demo_seeds --seeds 10

A seed may draw the provider's images, the noise and the private shots. In the demonstration the shots are the same
on every machine and the pool's seed is public, so only the noise is fresh there. `selection` is the demonstration
without its round of variation: there one thing at a time is drawn, and the others are the demonstration's own.

It continues where it was cut off, and writes docs/results/demo.{md,json}.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.judges import ONNX, other_eyes
from benchmarks.private_sets import drawn
from benchmarks.rows import Row, accuracy, options, summary, table, written
from benchmarks.selectors.design import NEAREST_MEAN, RANDOM_PHASE, Trial
from benchmarks.selectors.local import LocalGenerator
from benchmarks.selectors.trial import NoNoise, Watch, encoder, model, planned, ran
from benchmarks.selectors.yardsticks import nearest_mean, random_phase
from pcevolve.dp.mechanisms import Noise, SeededNoise
from pcevolve.evaluation.heads import Training, train_linear
from pcevolve.evaluation.judge import Judge
from pcevolve.modality.images.appearance import appearance_in, developed
from pcevolve.private.dataset import PrivateDataset
from pcevolve.session.finished.judging import quick_judges
from pcevolve.session.first.demo import CANDIDATES, OF_IMAGES
from pcevolve.session.private_data import SPLIT_SEED

WORLD = "marks:3=type A,8=type B"
SHOTS, POOL, NOISE, NOBODY = "shots", "pool", "noise", "no noise"


@dataclass(frozen=True)
class Way:
    """What is measured.

    Attributes:
        method: Of selection, or a yardstick: ``shots`` is training on the private shots themselves.
        drawn: What a seed draws anew; the rest is the demonstration's.
        iterations: Rounds of variation.
        noisy: False for the release without its noise, which protects nobody.
    """

    method: str
    drawn: tuple[str, ...]
    iterations: int = 0
    noisy: bool = True


WAYS = {
    "the demonstration": Way("dp-means", (POOL, NOISE), 1),
    "t2i": Way("t2i", (POOL,)),
    "random": Way("random", (POOL, NOISE), 1),
    "random phases under a released spectrum": Way(RANDOM_PHASE, (POOL, NOISE)),
    "nearest released mean, no images": Way(NEAREST_MEAN, (NOISE,)),
    "selection, other pools and noise": Way("dp-means", (POOL, NOISE)),
    "selection, other pools, no noise": Way("dp-means", (POOL,), noisy=False),
    "selection, other noise": Way("dp-means", (NOISE,)),
    "selection, other shots": Way("dp-means", (SHOTS,)),
    "shots": Way("shots", (SHOTS,)),
}
OPTIONS = OF_IMAGES.options
JUDGES = {
    "cnn": "CNN",
    "mobilenet": "MobileNet",
    "squeezenet": "SqueezeNet",
    "bundled": "bundled: **voted**",
}


def measured(seed: int, name: str, candidates: int, pictures: Path) -> Row:
    """One run in one way, and what every judge says of its dataset."""
    way = WAYS[name]
    private, held_out = drawn(WORLD, OPTIONS["shots"], seed if SHOTS in way.drawn else SPLIT_SEED)
    about = {"seed": seed, "way": name, "candidates": candidates}
    if way.method == NEAREST_MEAN:
        return {**about, "verdicts": [_of_release(_trial(way, seed, candidates), seed, private, held_out)]}
    images, targets = _shown(way, seed, candidates, private, pictures)
    found = [_verdict(judge, images, np.array(targets), held_out) for judge in _judges()]
    return {**about, "verdicts": found}


def _trial(way: Way, seed: int, candidates: int) -> Trial:
    """What is run, by the seed of its pool."""
    of_pool = seed if POOL in way.drawn else int(OPTIONS["seed"])
    shots, epsilon = int(OPTIONS["shots"]), str(OPTIONS["epsilon"])
    return Trial(WORLD, way.method, epsilon, shots, of_pool, candidates=candidates, iterations=way.iterations)


def _of_release(trial: Trial, seed: int, private: PrivateDataset, held_out: PrivateDataset) -> Row:
    """What the released means say by themselves, by the encoder that made them."""
    voter = _judges()[-1]
    said = nearest_mean(trial, private, encoder("bundled"), _seen(voter, held_out), SeededNoise(seed))
    return _told(voter, said, held_out)


def _shown(
    way: Way, seed: int, candidates: int, private: PrivateDataset, pictures: Path
) -> tuple[list[Image.Image | None], list[int]]:
    """Images to train on, and the class of each."""
    if way.method == "shots":
        return list(private.items), list(private.targets)
    if way.method == RANDOM_PHASE:
        painted, targets = random_phase(_trial(way, seed, candidates), private, SeededNoise(seed))
        return list(painted), targets
    return _made(way, seed, candidates, private, pictures)


def _made(
    way: Way, seed: int, candidates: int, private: PrivateDataset, pictures: Path
) -> tuple[list[Image.Image | None], list[int]]:
    """A run's dataset in its appearance, and the class of each image."""
    plan, method = planned(_trial(way, seed, candidates), private.labels)
    generator = LocalGenerator(plan, model(), pictures)
    of_noise = seed if NOISE in way.drawn else int(OPTIONS["seed"])
    noise: Noise = SeededNoise(of_noise) if way.noisy else NoNoise(of_noise)
    evolved = ran(plan, method, private, generator, noise, Watch())
    look = appearance_in(evolved.receipts)
    made = [(each, target) for target, label in enumerate(plan.labels) for each in evolved.dataset[label]]
    return [developed(generator.received(each.digest), look) for each, _ in made], [k for _, k in made]


@cache
def _judges() -> tuple[Judge, ...]:
    """Those of the demonstration, and encoders that took no part where their weights are at hand; the voter last."""
    *strangers, voter = quick_judges(encoder("bundled"), voted=True, device="cpu")
    looks = {name: look for name in ONNX if (look := other_eyes(name)) is not None}
    more = [Judge(name, voted=False, look=look, train=train_linear) for name, look in looks.items()]
    return (*strangers, *more, voter)


def _verdict(judge: Judge, images: Sequence[Any], targets: np.ndarray, held_out: PrivateDataset) -> Row:
    training = Training(judge.look(images), targets, len(held_out.labels))
    return _told(judge, judge.train(training, 0)(_seen(judge, held_out)), held_out)


def _told(judge: Judge, said: np.ndarray, held_out: PrivateDataset) -> Row:
    return {
        "judge": judge.name,
        "voted": judge.voted,
        "accuracy": round(float((said == held_out.targets).mean()), 4),
    }


_SEEN: dict[tuple[str, bytes], np.ndarray] = {}


def _seen(judge: Judge, held_out: PrivateDataset) -> np.ndarray:
    """Held-out images as a judge sees them; those of the next seed's shots are mostly the same."""
    missing = [k for k, digest in enumerate(held_out.digests) if (judge.name, digest) not in _SEEN]
    if missing:
        fresh = judge.look([held_out.items[k] for k in missing])
        _SEEN.update({(judge.name, held_out.digests[k]): row for k, row in zip(missing, fresh, strict=True)})
    return np.stack([_SEEN[judge.name, digest] for digest in held_out.digests])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write."""
    parser = options(__doc__, seeds=10)
    parser.add_argument("--candidates", type=int, nargs="+", default=[max(CANDIDATES)])
    given = parser.parse_args(arguments)
    written(given, "demo", lambda known: _missing(known, given.seeds, given.candidates), measured, page)


def _missing(rows: Sequence[Row], seeds: int, sizes: Sequence[int]) -> Iterator[tuple[int, str, int]]:
    known = {(row["seed"], row["way"], row["candidates"]) for row in rows}
    for seed in range(seeds):
        for size in sizes:
            for name in WAYS:
                if (seed, name, size) not in known:
                    yield seed, name, size


HEADER = """# The demonstration, over seeds

Written by `python -m benchmarks.demo_seeds`: accuracies on held-out real digits (%, mean ± standard error over
seeds; the standard deviation, which is what somebody sees who runs it once; the least and the most), ε = 10, ten
shots. The demonstration is one run of the first row, with the pool of its public seed. `selection` has no round of
variation; what
a row does not draw anew is the demonstration's. `no noise` and `shots` protect nobody. The last judge **voted**.
"""


def page(rows: Sequence[Row]) -> str:
    """The tables, one for each size and judge."""
    parts = [HEADER]
    for size in sorted({row["candidates"] for row in rows}):
        here = [row for row in rows if row["candidates"] == size]
        for judge, title in JUDGES.items():
            lines = [line for name in WAYS if (line := _line(name, here, judge))]
            if lines:
                heads = ["what is drawn anew", "seeds", "mean", "s.d.", "least to most"]
                parts.append(f"## {size} images per class, {title}\n\n{table(heads, lines)}")
    return "\n".join(parts)


def _line(name: str, rows: Sequence[Row], judge: str) -> list[str]:
    """How one way did by one judge; empty where nothing is known."""
    said = [accuracy(row, judge) for row in rows if row["way"] == name]
    found = 100 * np.array([each for each in said if each is not None])
    if not len(found):
        return []
    spread = f"{found.std(ddof=1):.1f}" if len(found) > 1 else "–"
    return [name, str(len(found)), summary(found), spread, f"{found.min():.0f} to {found.max():.0f}"]


if __name__ == "__main__":
    main()
