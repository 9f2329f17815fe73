"""The demonstration over seeds: how far its accuracy varies, and what of that is the pool, the noise and the shots.

    .venv/bin/python -m benchmarks.demo_seeds --seeds 10
    .venv/bin/python -m benchmarks.demo_seeds --show cells --model FOLDER --steps 12 --guidance 1.5 --out OUT

``--show cells`` is what the demonstration is to become: four kinds of blood cells that the model was not told about;
there a seed draws everything anew. ``--model`` is a checkpoint as ``api_server/training/export.py`` writes it.

A seed may draw the provider's images, the noise and the private shots. In the demonstration the shots are the same
on every machine and the pool's seed is public, so only the noise is fresh there. `selection` is the demonstration
without its round of variation: there one thing at a time is drawn, and the others are the demonstration's own.

It continues where it was cut off, and writes demo.{md,json} or demo-cells.{md,json} into docs/results.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.judges import ONNX, other_eyes
from benchmarks.private_sets import drawn
from benchmarks.rows import Row, accuracy, options, summary, table, written
from benchmarks.selectors.design import NEAREST_MEAN, RANDOM_PHASE, Trial
from benchmarks.selectors.local import LocalGenerator, loaded
from benchmarks.selectors.trial import NoNoise, Watch, asked, encoder, model, planned, ran
from benchmarks.selectors.yardsticks import nearest_mean, random_phase
from pcevolve.dp.mechanisms import Noise, SeededNoise
from pcevolve.evaluation.heads import Training, train_linear
from pcevolve.evaluation.judge import Judge
from pcevolve.modality.images.appearance import appearance_in, developed
from pcevolve.private.dataset import PrivateDataset
from pcevolve.public.modality import Images
from pcevolve.session.finished.judging import quick_judges
from pcevolve.session.first.demo import CANDIDATES, OF_IMAGES
from pcevolve.session.private_data import SPLIT_SEED
from pcevolve_server.diffusion.generator import DiffusionGenerator

SHOTS, POOL, NOISE = "shots", "pool", "noise"


@dataclass(frozen=True)
class Way:
    """What is measured.

    Attributes:
        method: Of selection, or a yardstick: ``shots`` is training on the private shots themselves.
        drawn: What a seed draws anew; the rest is the demonstration's.
        iterations: Rounds of variation; None for as many as the method has.
        noisy: False for the release without its noise, which protects nobody.
    """

    method: str
    drawn: tuple[str, ...]
    iterations: int | None = 0
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
ALL = (SHOTS, POOL, NOISE)
WAYS_OF_CELLS = {
    "prompt alone": Way("t2i", ALL),
    "random": Way("random", ALL, 1),
    "random phases under a released spectrum": Way(RANDOM_PHASE, ALL),
    "selection": Way("dp-means", ALL),
    "and one round of variation": Way("dp-means", ALL, 1),
    "and three rounds": Way("dp-means", ALL, 3),
    "PE": Way("pe", ALL, None),
    "PCEvolve": Way("pcevolve", ALL, None),
    "shots": Way("shots", ALL),
}


@dataclass(frozen=True)
class Show:
    """What is shown.

    Attributes:
        world: The private set, as ``private_sets`` names it.
        domain: What the prompt calls it.
        ways: What is measured.
        about: What the held-out data are.
    """

    world: str
    domain: str
    ways: Mapping[str, Way]
    about: str


SHOWS = {
    "demo": Show("marks:3=type A,8=type B", "handwritten mark", WAYS, "real digits"),
    "demo-cells": Show(
        "cells:platelet=type 1,red blood cells=type 2,single red blood cell=type 3,white blood cell=type 4",
        "blood smear",
        WAYS_OF_CELLS,
        "blood cells under names that say nothing",
    ),
}
OPTIONS = OF_IMAGES.options
JUDGES = {
    "cnn": "CNN",
    "mobilenet": "MobileNet",
    "squeezenet": "SqueezeNet",
    "bundled": "bundled: **voted**",
}


@dataclass(frozen=True)
class Own:
    """The model, and how it is asked."""

    model: DiffusionGenerator
    asked: Images

    @classmethod
    def of(cls, given: argparse.Namespace) -> Own:
        """Load a checkpoint, or take the bundled model as it is."""
        usual = asked()
        steps, guidance = given.steps or usual.steps, given.guidance or usual.guidance
        own = Images(guidance=guidance, steps=steps, width=usual.width, height=usual.height)
        return cls(loaded(given.model) if given.model else model(), own)


def measured(show: Show, own: Own, seed: int, name: str, candidates: int, pictures: Path) -> Row:
    """One run in one way, and what every judge says of its dataset."""
    way = show.ways[name]
    private, held_out = drawn(show.world, OPTIONS["shots"], seed if SHOTS in way.drawn else SPLIT_SEED)
    about = {"seed": seed, "way": name, "candidates": candidates}
    trial = _trial(show.world, way, seed, candidates)
    if way.method == NEAREST_MEAN:
        return {**about, "verdicts": [_of_release(trial, seed, private, held_out)]}
    of_noise = seed if NOISE in way.drawn else int(OPTIONS["seed"])
    noise: Noise = SeededNoise(of_noise) if way.noisy else NoNoise(of_noise)
    images, targets = _shown(show.domain, own, trial, private, noise, pictures)
    found = [_verdict(judge, images, np.array(targets), held_out) for judge in _judges()]
    return {**about, "verdicts": found}


def _trial(world: str, way: Way, seed: int, candidates: int) -> Trial:
    """What is run, by the seed of its pool."""
    of_pool = seed if POOL in way.drawn else int(OPTIONS["seed"])
    shots, epsilon = int(OPTIONS["shots"]), str(OPTIONS["epsilon"])
    return Trial(world, way.method, epsilon, shots, of_pool, candidates=candidates, iterations=way.iterations)


def _of_release(trial: Trial, seed: int, private: PrivateDataset, held_out: PrivateDataset) -> Row:
    """What the released means say by themselves, by the encoder that made them."""
    voter = _judges()[-1]
    said = nearest_mean(trial, private, encoder("bundled"), _seen(voter, held_out), SeededNoise(seed))
    return _told(voter, said, held_out)


def _shown(
    domain: str, own: Own, trial: Trial, private: PrivateDataset, noise: Noise, pictures: Path
) -> tuple[list[Image.Image | None], list[int]]:
    """Images to train on, and the class of each."""
    if trial.method == "shots":
        return list(private.items), list(private.targets)
    if trial.method == RANDOM_PHASE:
        painted, targets = random_phase(trial, private, noise)
        return list(painted), targets
    plan, method = planned(trial, private.labels, own.asked, domain)
    generator = LocalGenerator(plan, own.model, pictures)
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
    parser.add_argument("--show", choices=SHOWS, default="demo")
    parser.add_argument("--ways", nargs="+", help="measure these alone")
    parser.add_argument("--model", type=Path, help="folder of a checkpoint, instead of the bundled model")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--guidance", type=float)
    given = parser.parse_args(arguments)
    show = SHOWS[given.show]
    ways = given.ways or list(show.ways)
    written(
        given,
        given.show,
        lambda known: _missing(known, given.seeds, given.candidates, ways),
        partial(measured, show, Own.of(given)),
        partial(page, show=show),
    )


def _missing(
    rows: Sequence[Row], seeds: int, sizes: Sequence[int], ways: Sequence[str]
) -> Iterator[tuple[int, str, int]]:
    known = {(row["seed"], row["way"], row["candidates"]) for row in rows}
    for seed in range(seeds):
        for size in sizes:
            for name in ways:
                if (seed, name, size) not in known:
                    yield seed, name, size


HEADER = """# The demonstration, over seeds

Written by `python -m benchmarks.demo_seeds`: accuracies on held-out {about} (%, mean ± standard error over
seeds; the standard deviation, which is what somebody sees who runs it once; the least and the most), ε = 10, ten
shots. The demonstration is one run of the first row, with the pool of its public seed. `selection` has no round of
variation; what
a row does not draw anew is the demonstration's. `no noise` and `shots` protect nobody. The last judge **voted**.
"""


def page(rows: Sequence[Row], show: Show = SHOWS["demo"]) -> str:
    """The tables, one for each size and judge."""
    parts = [HEADER.format(about=show.about)]
    for size in sorted({row["candidates"] for row in rows}):
        here = [row for row in rows if row["candidates"] == size]
        for judge, title in JUDGES.items():
            lines = [line for name in show.ways if (line := _line(name, here, judge))]
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
