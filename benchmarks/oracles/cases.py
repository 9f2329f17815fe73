"""Judge a set's datasets with each part replaced by its ideal, and beside the yardsticks, for one draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image

from benchmarks.judges import Look
from benchmarks.release.data import CENTRE_FIRST, SHOTS, RealSet
from benchmarks.release.seen import VOTER, Draw, Seen, load_frame, measure_head, repeat_classes
from benchmarks.rows import Row
from benchmarks.selectors.grid import RANDOM_PHASE, Trial
from benchmarks.selectors.yardsticks import paint_random_phases
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.geometry.frame import Frame, project
from pcevolve.public.media.images.files import digest_pixels
from pcevolve.public.privacy import Event, Events
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means, means_of
from pcevolve.public.selectors.selection import Measurement

PICKED = 20
NOISELESS: Events = (Event("gaussian", f"1/{10**9}"), Event("gaussian", f"1/{10**9}"))
PARTS = ("generator", "voter", "frame", "noise")
AS_IT_IS, SHOTS_THEMSELVES = "as it is", "the ten shots (not private)"
NO_IMAGES = "nearest released mean, no images: the voter itself"


@dataclass(frozen=True)
class Case:
    """A training set: a selection with ideal ``parts``, or what ``source`` says instead."""

    title: str
    parts: tuple[str, ...] = ()
    source: str = "selected"


def ideal(*parts: str) -> Case:
    """A selection with these parts replaced by their ideals."""
    return Case(f"ideal {', '.join(parts)}", parts)


CASES = (
    Case("t2i: the generator's first images", source="t2i"),
    Case("random: any of the generator's images", source="random"),
    Case("random phases under a released spectrum", source="phases"),
    Case(NO_IMAGES, source="means"),
    Case(AS_IT_IS),
    *map(ideal, reversed(PARTS)),
    ideal("voter", "frame", "noise"),
    *(ideal("generator", part) for part in PARTS[1:]),
    ideal(*PARTS),
    Case(SHOTS_THEMSELVES, source="shots"),
)


@dataclass(frozen=True, eq=False)
class Subject:
    """One set and one draw of it, as voter and judges see it, and how the judges look at more."""

    name: str
    real: RealSet
    seen: Seen
    draw: Draw
    judges: Mapping[str, Look]


def figures(case: Case, subject: Subject) -> list[Row]:
    """A row for each judge; the voter judges where there are no images, and is said to have voted."""
    known = {"set": subject.name, "case": case.title, "seed": subject.draw.seed}
    return [{**known, **verdict} for verdict in _verdicts(case, subject)]


def _verdicts(case: Case, subject: Subject) -> Iterator[Row]:
    if case.source == "means":
        yield {"judge": VOTER, "voted": True, "accuracy": _without_images(case, subject)}
        return
    seen, test = subject.seen, subject.draw.test
    for judge in subject.judges:
        made, labels = _make(case, subject, judge)
        found = measure_head(made, labels, seen.real[judge][test], seen.targets[test])
        yield {"judge": judge, "voted": False, "accuracy": round(found, 4)}


def _make(case: Case, subject: Subject, judge: str) -> tuple[np.ndarray, np.ndarray]:
    """A training set as the judge sees it, and its labels."""
    seen, draw = subject.seen, subject.draw
    if case.source == "shots":
        return seen.real[judge][draw.shots], seen.targets[draw.shots]
    if case.source == "phases":
        return _paint(subject, judge)
    chosen = _choose(case, subject, judge)
    return np.concatenate(chosen), repeat_classes(chosen)


def _choose(case: Case, subject: Subject, judge: str) -> list[np.ndarray]:
    """Of each class, embeddings of the candidates that were taken."""
    drawn = subject.seen.drawn[judge]
    if case.source == "t2i":
        return [pool[:PICKED] for pool in drawn]
    if case.source == "random":
        random = np.random.default_rng(subject.draw.seed)
        return [random.permutation(pool)[:PICKED] for pool in drawn]
    voter = next(name for name in subject.judges if name != judge) if "voter" in case.parts else VOTER
    scene = _scene(subject, voter, "generator" in case.parts, "frame" in case.parts)
    picked = Means().pick(_measure(case, subject, voter, scene), scene)
    real = subject.seen.real[judge][subject.draw.unlabelled]
    pools = [real] * len(picked) if "generator" in case.parts else drawn
    return [pool[rows] for pool, rows in zip(pools, picked, strict=True)]


@lru_cache(maxsize=16)
def _scene(subject: Subject, voter: str, real_candidates: bool, real_frame: bool) -> SelectionInput:
    """Return candidates and their frame; kept, because making a frame takes longer than all else."""
    seen, draw = subject.seen, subject.draw
    unlabelled = seen.real[voter][draw.unlabelled]
    names = subject.real.labels
    pools = [unlabelled] * len(names) if real_candidates else seen.drawn[voter]
    frame = Frame.of(unlabelled) if real_frame else None
    known = None if real_frame else load_frame(voter)
    return SelectionInput(
        names, tuple(pools), PICKED, SHOTS, 1, 0, draw.seed, "replace-one", 0.0, frame, known
    )


def _measure(case: Case, subject: Subject, voter: str, scene: SelectionInput) -> Measurement:
    shots, targets = subject.draw.shots, subject.seen.targets
    private = PrivateEmbeddings(subject.seen.real[voter][shots], targets[shots], np.arange(len(shots)))
    events = NOISELESS if "noise" in case.parts else CENTRE_FIRST
    return Means().measure(private, scene, events, SeededNoise(subject.draw.seed))


def _without_images(case: Case, subject: Subject) -> float:
    """Accuracy of the nearest mean of the release that a selection as it is follows."""
    scene = _scene(subject, VOTER, real_candidates=False, real_frame=False)
    measured = _measure(case, subject, VOTER, scene)
    test = subject.draw.test
    points = project(subject.seen.real[VOTER][test], measured["centre"], measured["axes"])
    nearest = np.square(points[:, None] - means_of(measured)[None]).sum(axis=2).argmin(axis=1)
    return round(float((nearest == subject.seen.targets[test]).mean()), 4)


def _paint(subject: Subject, judge: str) -> tuple[np.ndarray, np.ndarray]:
    """Images of random phases under the shots' released spectra."""
    images, labels = _phases(subject)
    return np.asarray(subject.judges[judge](images), np.float64), np.array(labels)


@lru_cache(maxsize=1)
def _phases(subject: Subject) -> tuple[Sequence[Image.Image], list[int]]:
    real, draw = subject.real, subject.draw
    shots = [real.images[row] for row in draw.shots]
    digests = tuple(map(digest_pixels, shots))
    private = PrivateDataset(real.labels, shots, real.targets[draw.shots], digests)
    trial = Trial(subject.name, RANDOM_PHASE, "10", SHOTS, draw.seed, candidates=PICKED)
    return paint_random_phases(trial, private, SeededNoise(draw.seed))
