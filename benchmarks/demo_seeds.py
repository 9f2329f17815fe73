"""The demonstration over seeds: what its dataset is worth beside prompts alone, other methods and the private images.

    .venv/bin/python -m benchmarks.demo_seeds --seeds 10
    .venv/bin/python -m benchmarks.demo_seeds --domain "chest x-ray" --ways selection "and one round of variation"
    .venv/bin/python -m benchmarks.demo_seeds --model FOLDER --steps 12 --guidance 1.5 --out OUT

A seed draws the private images, the provider's and the noise. ``--model`` is a checkpoint as
``api_server/training/export.py`` writes it.

It continues where it was cut off, and writes demo.{md,json} into docs/results, of another domain demo-DOMAIN.{md,json}.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
from PIL import Image

from benchmarks.judges import ONNX, load_onnx
from benchmarks.private_sets import draw, say_nothing
from benchmarks.rows import Row, accuracy, measure_and_write, options, summary, table
from benchmarks.selectors.grid import NEAREST_MEAN, RANDOM_PHASE, Trial
from benchmarks.selectors.local import LocalGenerator, load_model
from benchmarks.selectors.trial import Watch, encoder, make_plan, model, model_options
from benchmarks.selectors.ways import JUDGES, make_dataset
from benchmarks.selectors.yardsticks import classify_by_means, paint_random_phases
from pcevolve.app.first.demo import CANDIDATES, OF_IMAGES
from pcevolve.keeper.evaluation.heads import Training, train_linear
from pcevolve.keeper.evaluation.judge import SEEDS, Evaluator
from pcevolve.keeper.finished.judging import load_quick_judges
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.modality import Images
from pcevolve.public.publish.usefulness import Word
from pcevolve_server.diffusion.generator import DiffusionGenerator


@dataclass(frozen=True)
class Way:
    """A setting that is measured.

    Attributes:
        method: Of selection, or a yardstick: ``shots`` is training on the private shots themselves.
        iterations: Rounds of variation; None for as many as the method has.
    """

    method: str
    iterations: int | None = 0


WAYS = {
    "prompt alone": Way("t2i"),
    "random": Way("random", 1),
    "random phases under a released spectrum": Way(RANDOM_PHASE),
    "selection": Way("dp-means"),
    "and one round of variation": Way("dp-means", 1),
    "and three rounds": Way("dp-means", 3),
    "PE": Way("pe", None),
    "PCEvolve": Way("pcevolve", None),
    "nearest released mean, no images": Way(NEAREST_MEAN),
    "shots": Way("shots"),
}
OPTIONS = OF_IMAGES.options
CELLS = str(OPTIONS["domain"])
DOMAINS = {
    CELLS: str(OPTIONS["private"]),
    "handwritten mark": "mnist:1,2,6",
    "steel surface": "steel:crazing,patches,scratches",
    "chest x-ray": "xray:normal,pneumonia",
}
"""What the prompt calls them, and the private images: of each domain that the bundled model draws."""
WORDS: tuple[Word, ...] = get_args(Word)


@dataclass(frozen=True)
class Own:
    """The model, how it is asked, and what it is asked for."""

    model: DiffusionGenerator
    asked: Images
    domain: str

    @classmethod
    def of(cls, given: argparse.Namespace) -> Own:
        """Load a checkpoint, or take the bundled model as it is."""
        usual = model_options()
        steps, guidance = given.steps or usual.steps, given.guidance or usual.guidance
        own = Images(guidance=guidance, steps=steps, width=usual.width, height=usual.height)
        return cls(load_model(given.model) if given.model else model(), own, given.domain)


def measure(own: Own, seed: int, name: str, candidates: int, pictures: Path) -> Row:
    """One run in one way, and what every judge says of its dataset."""
    way, world, shots = WAYS[name], DOMAINS[own.domain], int(OPTIONS["shots"])
    private, held_out = map(say_nothing, draw(world, shots, seed))
    about = {"seed": seed, "way": name, "candidates": candidates}
    trial = Trial(
        world,
        way.method,
        str(OPTIONS["epsilon"]),
        shots,
        seed,
        candidates=candidates,
        iterations=way.iterations,
    )
    if way.method == NEAREST_MEAN:
        return {**about, "verdicts": [_of_release(trial, private, held_out)]}
    watch = Watch()
    images, targets = _training_set(own, trial, private, pictures, watch)
    found = [_verdict(judge, images, np.array(targets), held_out) for judge in _judges()]
    said = (
        {}
        if watch.assessed is None
        else {"word": watch.assessed.word("image"), **watch.assessed.model_dump()}
    )
    return {**about, "verdicts": found, **said}


def _of_release(trial: Trial, private: PrivateDataset, held_out: PrivateDataset) -> Row:
    """Judge the released means as a classifier, by the encoder that made them."""
    voter = _judges()[-1]
    said = classify_by_means(
        trial, private, encoder("bundled"), _embed(voter, held_out), SeededNoise(trial.seed)
    )
    return _row(voter, [said], held_out)


def _training_set(
    own: Own, trial: Trial, private: PrivateDataset, pictures: Path, watch: Watch
) -> tuple[list[Image.Image | None], list[int]]:
    """Images to train on, and the class of each."""
    if trial.method == "shots":
        return list(private.items), list(private.targets)
    if trial.method == RANDOM_PHASE:
        painted, targets = paint_random_phases(trial, private, SeededNoise(trial.seed))
        return list(painted), targets
    plan, method = make_plan(trial, private.labels, own.asked, own.domain)
    generator = LocalGenerator(plan, own.model, pictures)
    images, made = make_dataset(trial.seed, plan, method, private, generator, watch)
    return images, [target for _, target in made]


@cache
def _judges() -> tuple[Evaluator, ...]:
    """Those of the demonstration, and encoders that took no part where their weights are at hand; the voter last."""
    *strangers, voter = load_quick_judges(encoder("bundled"), voted=True, device="cpu")
    looks = {name: look for name in ONNX if (look := load_onnx(name)) is not None}
    more = [Evaluator(name, voted=False, look=look, train=train_linear) for name, look in looks.items()]
    return (*strangers, *more, voter)


def _verdict(judge: Evaluator, images: Sequence[Any], targets: np.ndarray, held_out: PrivateDataset) -> Row:
    training = Training(judge.look(images), targets, len(held_out.labels))
    [said] = judge.predictions([[training] * SEEDS], _embed(judge, held_out))
    return _row(judge, said, held_out)


def _row(judge: Evaluator, said: Sequence[np.ndarray], held_out: PrivateDataset) -> Row:
    """The mean over a judge's trainings, as the demonstration prints it."""
    right = np.mean([each == held_out.targets for each in said])
    return {"judge": judge.name, "voted": judge.voted, "accuracy": round(float(right), 4)}


_SEEN: dict[tuple[str, bytes], np.ndarray] = {}


def _embed(judge: Evaluator, held_out: PrivateDataset) -> np.ndarray:
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
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="measure these alone")
    parser.add_argument("--domain", choices=DOMAINS, default=CELLS)
    parser.add_argument("--model", type=Path, help="folder of a checkpoint, instead of the bundled model")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--guidance", type=float)
    given = parser.parse_args(arguments)
    measure_and_write(
        given,
        "demo" if given.domain == CELLS else f"demo-{given.domain.replace(' ', '-')}",
        lambda known: _list_missing(known, given.seeds, given.candidates, given.ways),
        partial(measure, Own.of(given)),
        partial(page, given.domain),
    )


def _list_missing(
    rows: Sequence[Row], seeds: int, sizes: Sequence[int], ways: Sequence[str]
) -> Iterator[tuple[int, str, int]]:
    known = {(row["seed"], row["way"], row["candidates"]) for row in rows}
    for seed in range(seeds):
        for size in sizes:
            for name in ways:
                if (seed, name, size) not in known:
                    yield seed, name, size


HEADER = """# The demonstration, over seeds: {domain}

Written by `python -m benchmarks.demo_seeds`: accuracies on held-out images under names that say nothing (%, mean ±
standard error over seeds; the standard deviation, which is what somebody sees who runs it once; the least and the
most), ε = 10, ten shots. `shots` protects nobody. The last judge **voted**.
"""


def page(domain: str, rows: Sequence[Row]) -> str:
    """The tables, one for each size and judge."""
    parts = [HEADER.format(domain=domain)]
    for size in sorted({row["candidates"] for row in rows}):
        here = [row for row in rows if row["candidates"] == size]
        for judge, title in JUDGES.items():
            lines = [line for name in WAYS if (line := _line(name, here, judge))]
            if lines:
                heads = ["training on", "seeds", "mean", "s.d.", "least to most"]
                parts.append(f"## {size} images per class, {title}\n\n{table(heads, lines)}")
        said = [[name, *counts] for name in WAYS if (counts := _words(name, here))]
        if said:
            parts.append(f"## {size} images per class, what runs said\n\n{table(['', *WORDS], said)}")
    return "\n".join(parts)


def _words(name: str, rows: Sequence[Row]) -> list[str]:
    """How often the runs of a way said each word of their datasets; empty where they say none."""
    said = [row["word"] for row in rows if row["way"] == name and "word" in row]
    return [str(said.count(word)) for word in WORDS] if said else []


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
