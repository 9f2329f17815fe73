"""Does a second look that did not choose know better?  ``python -m benchmarks.usefulness.second --cache DIR``.

``--encoder joined`` releases class means of two encoders at once. Each half picks what it alone would have picked, and
the other half checks it: the cosine between how the picks' class means differ and how its own released means do. Public
arithmetic on one release, at no cost. Datasets of 20 images per class are selected by the whole release (epsilon 10,
delta 1e-5, replace-one) from unlabelled real images of the set, from those with three times as many of another set
among them, from another set's alone, and for each class from a class of another set. Truth: the share of the way from
chance to the shots, by a head on a SqueezeNet, which never voted; half of it is worth it.

Bounds are chosen without the set that they are tried on. It writes docs/results/second.json and prints a table;
``--cache`` is that of ``benchmarks.voters``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.judges import load_onnx
from benchmarks.release.data import RealSet, embed_once, list_development_sets
from benchmarks.release.seen import arguments, measure_head, repeat_classes
from benchmarks.rows import Row, resume_in_steps, table
from benchmarks.usefulness.cases import PICKED, WORTH, share_of_way, spend
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders import JOINED, load_encoder
from pcevolve.public.geometry.distances import squared_distances
from pcevolve.public.geometry.frame import MOST_AXES, project
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means, aims_of, means_of
from pcevolve.public.selectors.usefulness import agreement, classes_apart, distance

JUDGE = "squeezenet"
SHOTS = (10, 50)
SOURCES = ("real", "quarter", "other", "swapped")
EPSILON = 10
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Seen:
    """A set as voter and judge see it."""

    joined: Array
    judged: Array
    targets: Array


def main() -> None:
    """Measure what is missing, and print."""
    given = arguments(__doc__, seeds=5)
    sets = {name: _embed(real, given.cache) for name, real in list_development_sets(given.sets).items()}
    steps = {
        f"{name}, {shots} shots, seed {seed}": partial(measure, name, sets, shots, seed)
        for seed in range(given.seeds)
        for name in sets
        for shots in SHOTS
    }
    rows = resume_in_steps(given.cache / "second.jsonl", steps)
    (given.out / "second.json").write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    print("\n".join(pages(rows)))


def _embed(real: RealSet, folder: Path) -> Seen:
    judge = load_onnx(JUDGE)
    assert judge is not None, "PCEVOLVE_BENCH_DATA names no weights of the judge"
    joined = embed_once(JOINED, real.images, load_encoder(JOINED).embed, folder)
    return Seen(joined, embed_once(JUDGE, real.images, judge, folder), real.targets)


@cache
def _frame() -> Any:  # noqa: ANN401 - a public frame or none
    return load_encoder(JOINED).frame


def measure(name: str, sets: dict[str, Seen], shots: int, seed: int) -> list[Row]:
    """A row for each source of candidates."""
    here, random = sets[name], np.random.default_rng([seed, shots])
    names = list(sets)
    other = sets[names[(names.index(name) + 1) % len(names)]]
    classes = int(here.targets.max()) + 1
    own = np.concatenate(
        [random.permutation(np.flatnonzero(here.targets == each))[:shots] for each in range(classes)]
    )
    rest = random.permutation(np.delete(np.arange(len(here.targets)), own))
    free, test = np.array_split(rest, 2)
    truth = here.targets[test]
    ceiling = measure_head(here.judged[own], here.targets[own], here.judged[test], truth)
    private = PrivateEmbeddings(here.joined[own], here.targets[own], np.arange(len(own)))
    rows = []
    for source in SOURCES:
        pools = list(_pools(source, here, other, free, classes, random))
        labels = tuple(map(str, range(classes)))
        joined = tuple(each[0] for each in pools)
        scene = SelectionInput(labels, joined, PICKED, shots, 1, 0, seed, "replace-one", public=_frame())
        events = spend(EPSILON)
        measured = Means().measure(private, scene, events, SeededNoise(seed))
        picked = Means().pick(measured, scene)
        made = [pool[1][chosen] for pool, chosen in zip(pools, picked, strict=True)]
        found = measure_head(np.concatenate(made), repeat_classes(made), here.judged[test], truth)
        points = [
            project(pool[chosen], measured["centre"], measured["axes"])
            for pool, chosen in zip(joined, picked, strict=True)
        ]
        checks = cross_check(joined, measured)
        rows.append(
            {
                "set": name,
                "shots": shots,
                "seed": seed,
                "source": source,
                "closed": round(share_of_way(found, ceiling, classes), 4),
                "distance": round(distance(measured, scene, events, points) or 0.0, 4),
                "agreement": round(agreement(measured, points) or 0.0, 4),
                "classes_apart": round(classes_apart(measured, scene, events) or 0.0, 2),
                "checks": [round(each, 4) for each in checks],
            }
        )
    return rows


def _pools(
    source: str, here: Seen, other: Seen, free: Array, classes: int, random: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Of each class its candidates as voter and judge see them."""
    strangers = random.permutation(len(other.targets))[:300]
    own = (here.joined[free], here.judged[free])
    theirs = (other.joined[strangers], other.judged[strangers])
    few = random.permutation(free)[:100]
    mixed = (
        np.concatenate([here.joined[few], other.joined[strangers]]),
        np.concatenate([here.judged[few], other.judged[strangers]]),
    )
    for target in range(classes):
        of_class = np.flatnonzero(other.targets == target % (int(other.targets.max()) + 1))
        swapped = (other.joined[of_class], other.judged[of_class])
        yield {"real": own, "quarter": mixed, "other": theirs, "swapped": swapped}[source]


def cross_check(pools: Sequence[Array], measured: Any) -> tuple[float, float]:  # noqa: ANN401 - a measurement
    """What each half of the release says of what the other half alone would have picked, as cosines."""
    points = [project(pool, measured["centre"], measured["axes"]) for pool in pools]
    aims, means = aims_of(measured), means_of(measured)
    halves = slice(0, MOST_AXES), slice(MOST_AXES, None)
    found = []
    for picks, checks in (halves, halves[::-1]):
        made = []
        for target, rows in enumerate(points):
            squared = squared_distances(rows[:, picks], aims[:, picks])
            lead = np.delete(squared, target, axis=1).min(axis=1)
            best = np.argsort(squared[:, target] - 0.5 * lead)[:PICKED]
            made.append(rows[best][:, checks].mean(axis=0))
        own, theirs = np.stack(made), means[:, checks]
        own, theirs = own - own.mean(axis=0), theirs - theirs.mean(axis=0)
        scale = float(np.linalg.norm(own) * np.linalg.norm(theirs))
        found.append(float((own * theirs).sum()) / scale if scale else 0.0)
    return found[0], found[1]


RULES = {
    "today": lambda row, bound: (
        row["distance"] <= 0.62 and row["agreement"] >= 0.75 and row["classes_apart"] >= 5
    ),
    "second look": lambda row, bound: float(np.mean(row["checks"])) >= bound,
    "second look, distance up to .9": lambda row, bound: (
        row["distance"] <= 0.9 and float(np.mean(row["checks"])) >= bound
    ),
}
WANTED = 0.95


def choose_bound(rows: Sequence[Row], rule: str) -> float:
    """The least bound at which the word is right in 95 of 100."""
    for bound in np.arange(0.0, 1.0, 0.02):
        said = [row for row in rows if RULES[rule](row, bound)]
        if said and np.mean([row["closed"] >= WORTH for row in said]) >= WANTED:
            return float(bound)
    return 1.0


def pages(rows: Sequence[Row]) -> Iterator[str]:
    """Of each rule, how often it is right and of how much of what is worth it it is said, by shots."""
    names = list(dict.fromkeys(row["set"] for row in rows))
    lines = []
    for rule, shots in itertools.product(RULES, SHOTS):
        here = [row for row in rows if row["shots"] == shots]
        said, bounds = [], []
        for name in names:
            bound = choose_bound([row for row in here if row["set"] != name], rule)
            bounds.append(bound)
            said += [row for row in here if row["set"] == name and RULES[rule](row, bound)]
        right = sum(row["closed"] >= WORTH for row in said)
        worth = sum(row["closed"] >= WORTH for row in here)
        lines.append(
            [
                rule,
                str(shots),
                f"{right} of {len(said)}",
                f"{right} of {worth}",
                f"{min(bounds):.2f} to {max(bounds):.2f}",
            ]
        )
    yield table(
        ["rule", "shots", "right, of those called useful", "called so, of those worth it", "bounds"], lines
    )


if __name__ == "__main__":
    main()
