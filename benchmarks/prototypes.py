"""Class prototypes as a classifier: ours beside DPPL's, ``python -m benchmarks.prototypes --cache DIR``.

``pcevolve classify`` takes the noisy class means that a run of ``dp-means`` released. DPPL (Wahdany et al., AAAI 2025)
releases such prototypes in three ways, written here after its authors' own description (dppl.wahdany.eu/method):

- *Mean*: embeddings, average-pooled and clipped to a ball, averaged by class; Gaussian noise on the average.
- *Public*: the exponential mechanism picks a public image; its score is the sum of clipped cosines to the class.
- *Top-K*: K public images whose least score the exponential mechanism draws; here their mean is the prototype.

Public images are of the bundled encoder every fourth of the library (``benchmarks.library``), of MobileNet those of the
other sets, which are nothing like it. All ways protect one replaced image, at delta 1e-5 where there is one, and have
the same encoder, shots and test images. DPPL has settings (pooling, radius, clipping, whether embeddings are centred,
the distance); of each way the setting is shown that is best on the mean of these very sets, which favours it. It writes
docs/results/prototypes.jsonl and prints tables.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.special import gammaln

from benchmarks.private_sets import DATA
from benchmarks.release.data import SHOTS, embed_once, list_development_sets
from benchmarks.release.seen import Draw, arguments
from benchmarks.rows import Row, resume_in_steps, summary, table
from benchmarks.split import SETS
from benchmarks.usefulness.cases import spend
from pcevolve.public.dp.calibration import smallest_noise_multiplier
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import BUNDLED, MOBILENET, Encoder, load_encoder
from pcevolve.public.geometry.frame import project
from pcevolve.public.privacy import Budget
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means, means_of

EVERY = 4
"""Of the library's images one in so many is looked at."""
ENCODERS, EPSILONS = (BUNDLED, MOBILENET), (10, 2)
OURS, MEAN, PUBLIC, TOP_K, NOISELESS = (
    "ours (classify)",
    "DPPL-Mean",
    "DPPL-Public",
    "DPPL-Public Top-K",
    "class means without noise (not private)",
)
POOLS, RADII, RANGES, COUNTS = (1, 4, 16), (0.5, 1.0), ((0, 2), (1, 2), (1.5, 2)), (3, 10)
DISTANCES = ("cosine", "euclidean")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Seen:
    """One draw of a set as an encoder sees it: shots by class ``(C, K, d)``, test images, their truth, public ones."""

    shots: Array
    tested: Array
    truth: Array
    public: Array

    def centred(self) -> Seen:
        """The same with the mean of the public images as the origin."""
        origin = self.public.mean(axis=0)
        return Seen(self.shots - origin, self.tested - origin, self.truth, self.public - origin)

    def pooled(self, pool: int) -> Seen:
        """The same with neighbouring numbers averaged, ``pool`` at a time."""
        shrink = partial(_pool, pool=pool)
        return Seen(shrink(self.shots), shrink(self.tested), self.truth, shrink(self.public))

    def score(self, prototypes: Array, distance: str) -> float:
        """Accuracy of the nearest prototype, float64 ``(C, d)``."""
        rows, means = self.tested, prototypes
        if distance == "cosine":
            rows, means = _unit(rows), _unit(means)
        said = np.square(rows[:, None] - means[None]).sum(axis=2).argmin(axis=1)
        return float((said == self.truth).mean())


def main() -> None:
    """Measure what is missing, and write."""
    given = arguments(__doc__, seeds=10)
    sets = list_development_sets(given.sets)
    embedded: dict[str, dict[str, Array]] = {}
    for encoder in ENCODERS:
        look = load_encoder(encoder).embed
        embedded[encoder] = {
            name: embed_once(encoder, each.images, look, given.cache) for name, each in sets.items()
        }
    library = embed_once(BUNDLED, _open_library(given.cache), load_encoder(BUNDLED).embed, given.cache)
    write(given, {name: each.targets for name, each in sets.items()}, embedded, library[::EVERY])


def write(
    given: argparse.Namespace,
    targets: Mapping[str, Array],
    embedded: Mapping[str, Mapping[str, Array]],
    library: Array,
) -> None:
    """Measure what is missing of sets that encoders have seen, and write."""
    steps = {}
    for seed, encoder, name in itertools.product(range(given.seeds), ENCODERS, targets):
        others = [each for key, each in embedded[encoder].items() if key != name]
        public = library if encoder == BUNDLED else np.concatenate(others)
        steps[f"{name}, {encoder}, seed {seed}"] = partial(
            measure, name, embedded[encoder][name], targets[name], public, encoder, seed
        )
    rows = best(resume_in_steps(given.cache / "prototypes.jsonl", steps))
    (given.out / "prototypes.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    print("\n".join(pages(rows)))


def _open_library(folder: Path) -> list[Image.Image]:
    from benchmarks.library.__main__ import gather  # loads the library's server

    files = sorted(gather(Path(os.environ[DATA]), folder).rglob("*.jpg"))
    return [Image.open(path).convert("RGB") for path in files]


def measure(name: str, real: Array, targets: Array, public: Array, encoder: str, seed: int) -> list[Row]:
    """Accuracies of all ways and settings."""
    loaded, draw, classes = load_encoder(encoder), Draw.of(targets, seed), int(targets.max()) + 1
    shots = real[draw.shots].reshape(classes, SHOTS, -1)
    seen = Seen(shots, real[draw.test], targets[draw.test], public)
    about = {"set": name, "encoder": encoder, "seed": seed}
    rows = []
    for epsilon in EPSILONS:
        for way, setting, prototypes, view in _list_ways(seen, loaded, epsilon, seed):
            for distance in DISTANCES if way not in (OURS,) else ("euclidean",):
                found = round(view.score(prototypes, distance), 4)
                told = f"{setting}, {distance}" if setting else distance
                rows.append({**about, "epsilon": epsilon, "way": way, "setting": told, "accuracy": found})
    return rows


Ways = Iterator[tuple[str, str, Array, Seen]]


def _list_ways(seen: Seen, encoder: Encoder, epsilon: int, seed: int) -> Ways:
    """Each way's name and setting, its prototypes, and the images in their space."""
    yield _ours(seen, encoder, epsilon, seed)
    for centred in (False, True):
        origin, told = (seen.centred(), "centred, ") if centred else (seen, "")
        yield NOISELESS, told.strip(", "), origin.shots.mean(axis=1), origin
        yield from _noisy_means(origin, told, epsilon, seed)
        yield from _selected(origin, told, epsilon, seed)


def _ours(seen: Seen, encoder: Encoder, epsilon: int, seed: int) -> tuple[str, str, Array, Seen]:
    """The means that a run releases, in the frame of its encoder alone."""
    classes, shots, size = seen.shots.shape
    nobody = np.full((1, size), np.nan)
    labels = tuple(map(str, range(classes)))
    scene = SelectionInput(
        labels, (nobody,) * classes, 1, shots, 1, 0, seed, "replace-one", public=encoder.frame
    )
    rows, targets = seen.shots.reshape(-1, size), np.repeat(np.arange(classes), shots)
    measured = Means().measure(
        PrivateEmbeddings(rows, targets, np.arange(len(rows))), scene, spend(epsilon), SeededNoise(seed)
    )
    look: Callable[[Array], Array] = partial(project, centre=measured["centre"], axes=measured["axes"])
    return OURS, "", means_of(measured), Seen(seen.shots, look(seen.tested), seen.truth, seen.public)


def _noisy_means(seen: Seen, told: str, epsilon: int, seed: int) -> Ways:
    """DPPL-Mean; its noise is calibrated exactly, which is less than by zCDP."""
    multiplier = float(smallest_noise_multiplier(Budget(Fraction(epsilon), 1e-5), 1))
    for pool, share in itertools.product(POOLS, RADII):
        view = seen.pooled(pool)
        radius = share * float(np.median(np.linalg.norm(view.public, axis=1)))
        norms = np.linalg.norm(view.shots, axis=2, keepdims=True)
        means = (view.shots * np.minimum(1, radius / norms)).mean(axis=1)
        # One replaced image moves an average of K in a ball of radius r by 2 r / K.
        noise = np.random.default_rng([seed, epsilon]).normal(size=means.shape)
        yield (
            MEAN,
            f"{told}pool {pool}, radius {share:g}",
            means + multiplier * 2 * radius / SHOTS * noise,
            view,
        )


def _selected(seen: Seen, told: str, epsilon: int, seed: int) -> Ways:
    """DPPL-Public and Top-K."""
    similar = 1 + np.einsum("ckd,pd->ckp", _unit(seen.shots), _unit(seen.public))
    for low, high in RANGES:
        scores = ((similar.clip(low, high) - low) / (high - low)).sum(axis=1)
        for count in (1, *COUNTS):
            random = np.random.default_rng([seed, epsilon, count])
            chosen = [draw_top(each, count, epsilon, random) for each in scores]
            prototypes = np.stack([_unit(seen.public[each]).mean(axis=0) for each in chosen])
            way, kept = (PUBLIC, "") if count == 1 else (TOP_K, f", K = {count}")
            yield way, f"{told}clip {low:g} to {high:g}{kept}", prototypes, seen


def draw_top(scores: Array, count: int, epsilon: float, random: np.random.Generator) -> Array:
    """Places of ``count`` candidates, drawn by the least score among them; ``count`` 1 is the exponential mechanism.

    A replaced image moves each score by at most 1, so epsilon / 2 stands before the score. Sets whose least score is
    that of rank j number ``binomial(j, count - 1)``.
    """
    order = np.argsort(-scores)
    ranks = np.arange(count - 1, len(order))
    sets = gammaln(ranks + 1) - gammaln(count) - gammaln(ranks - count + 2)
    least = int(ranks[np.argmax(sets + epsilon / 2 * scores[order[ranks]] + random.gumbel(size=len(ranks)))])
    return order[[*random.permutation(least)[: count - 1], least]]


def _unit(rows: Array) -> Array:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12))


def _pool(rows: Array, pool: int) -> Array:
    size = rows.shape[-1] // pool * pool
    return np.asarray(rows[..., :size].reshape(*rows.shape[:-1], size // pool, pool).mean(axis=-1))


def best(rows: Sequence[Row]) -> list[Row]:
    """Of each way, encoder and epsilon the setting that is best on the mean of all sets, with each seed's accuracy."""
    by_setting: dict[tuple[Any, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_setting[row["encoder"], row["epsilon"], row["way"], row["setting"]][row["set"]].append(
            row["accuracy"]
        )
    found = []
    for encoder, epsilon, way in itertools.product(
        ENCODERS, EPSILONS, (OURS, MEAN, PUBLIC, TOP_K, NOISELESS)
    ):
        tried = {
            setting: sets
            for (*about, setting), sets in by_setting.items()
            if about == [encoder, epsilon, way]
        }
        setting = max(tried, key=lambda each: np.mean([np.mean(of_set) for of_set in tried[each].values()]))
        for name, accuracies in tried[setting].items():
            about = {"set": name, "encoder": encoder, "epsilon": epsilon, "way": way, "setting": setting}
            found.append({**about, "settings": len(tried), "accuracies": accuracies})
    return found


def pages(rows: Sequence[Row]) -> Iterator[str]:
    """A table for each encoder and epsilon."""
    for encoder, epsilon in itertools.product(ENCODERS, EPSILONS):
        here = [row for row in rows if (row["encoder"], row["epsilon"]) == (encoder, epsilon)]
        ways: Mapping[str, str] = {row["way"]: row["setting"] for row in here}
        cells = {(row["set"], row["way"]): row["accuracies"] for row in here}
        names = list(dict.fromkeys(row["set"] for row in here))
        lines = [
            [SETS[name].title, *(summary(100 * np.array(cells[name, way])) for way in ways)] for name in names
        ]
        means = [f"{100 * np.mean([np.mean(cells[name, way]) for name in names]):.1f}" for way in ways]
        yield f"{encoder}, epsilon {epsilon}: {ways}\n"
        yield table(["set", *ways], [*lines, ["**mean**", *means]])


if __name__ == "__main__":
    main()
