"""Compare a dataset with what was released about the private classes: post-processing, from public numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load

from pcevolve.dp.mechanisms import FloatArray
from pcevolve.evolution import Pool
from pcevolve.modality.images.appearance import find_released_appearance
from pcevolve.privacy import Events
from pcevolve.public.release import Candidate, Chosen, Receipt
from pcevolve.public.usefulness import DIGITS, Assessment
from pcevolve.selectors.choosing import Chooser, choose_renditions
from pcevolve.selectors.means import aims_of
from pcevolve.selectors.scene import Measurement, Scene, join_scenes
from pcevolve.selectors.sums import CentreFirst

SIGNIFICANT = 4
"""Digits of a large number that embeddings of six digits leave certain."""
UNSURE = 1e-4
"""By how much two machines may differ in a figure before it is rounded: its share, or of one. Embeddings that differ by
a millionth move the first by 8 millionths, the others by less than one."""
Dataset = Mapping[str, Sequence[Candidate | Chosen]]


class Figures(NamedTuple):
    """The figures of an assessment before they are rounded."""

    classes_apart: float | None
    distance: float
    agreement: float | None

    def round(self) -> Assessment:
        """The assessment as it goes on record."""
        return Assessment(**{name: _round(name, value) for name, value in self._asdict().items()})

    def could_round_to(self, recorded: Assessment) -> bool:
        """True if this is what was recorded, as this or another machine rounds it."""
        for name, value in self._asdict().items():
            reach = 0.0 if value is None else UNSURE * max(1.0, abs(value))
            near = (None if value is None else value + each for each in (0.0, -reach, reach))
            if getattr(recorded, name) not in [_round(name, each) for each in near]:
                return False
        return True


def assess(
    chooser: Chooser,
    receipts: Sequence[Receipt],
    pool: Callable[[int], Pool],
    dataset: Dataset,
    stored: Callable[[str], bytes],
) -> Assessment | None:
    """Assess a run's dataset; see ``find_figures``."""
    found = find_figures(chooser, receipts, pool, dataset, stored)
    return None if found is None else found.round()


def find_figures(
    chooser: Chooser,
    receipts: Sequence[Receipt],
    pool: Callable[[int], Pool],
    dataset: Dataset,
    stored: Callable[[str], bytes],
) -> Figures | None:
    """The figures of the dataset of a run that released class means around a centre, if there are images; else None.

    Args:
        pool: What the release of an iteration chose from.
        stored: Gives what was measured, by digest.
    """
    plan = chooser.plan
    paid = [each for each in receipts if each.iteration and each.measured]
    if not plan.centre_first or not paid:
        return None
    last, look = paid[-1], next((each for each in receipts if not each.iteration), None)
    scene = join_scenes(chooser.scenes(last.iteration, pool(last.iteration), choose_renditions(plan, look)))
    measured = load(stored(last.measured))
    scene = scene.with_recorded_frame(measured["centre"], measured["axes"])
    shown = find_released_appearance(receipts)
    points = [chooser.points(dataset[label], shown, measured) for label in plan.labels]
    far = distance(measured, scene, points)
    if far is None:
        return None
    return Figures(classes_apart(measured, scene, last.events), far, agreement(measured, points))


def classes_apart(measured: Measurement, scene: Scene, events: Events) -> float | None:
    """Return the distance of two released class means, in standard deviations of the noise on each of them.

    The root of the mean squared distance over all pairs of the ``C`` classes. Noise alone makes that square ``2 k`` in
    the mean over ``k`` coordinates, so it is taken off: without any difference the rest is 0 in the mean, and with
    twice the shots, or half the noise, the distance doubles, whatever ``C`` and ``k`` are. The least distance
    of a pair would be more careful, and of several noisy ones the least is always far too small.

    Returns:
        None where there is one class; 0 where noise alone would part them as far, or where nothing was kept of the
        classes, because all candidates are the same.
    """
    classes = len(scene.labels)
    if classes == 1:
        return None
    noisy, sigma = CentreFirst(scene.coordinates, scene, events).recover_noisy_deviations(measured)
    spread = float(np.square((noisy - noisy.mean(axis=0)) / sigma).sum()) / (classes - 1)
    # Noise alone can make the spread smaller than its mean; the difference
    # then says nothing, and not less than nothing.
    return float(np.sqrt(2 * max(spread - noisy.shape[1], 0.0)))


def distance(measured: Measurement, scene: Scene, points: Sequence[FloatArray]) -> float | None:
    """Mean distance of a dataset's images to where their class was released to be, in clip radii; None without images.

    Args:
        points: Of each class, float64 ``(images, k)`` in the frame of the release; rows that are not finite are no
            images, and a class without any does not count.
    """
    gaps = [
        float(np.nanmean(np.linalg.norm(rows - aim, axis=1)))
        for rows, aim in zip(points, aims_of(measured), strict=True)
        if np.isfinite(rows).any()
    ]
    return float(np.mean(gaps)) / scene.coordinates.radius if gaps else None


def agreement(measured: Measurement, points: Sequence[FloatArray]) -> float | None:
    """Cosine between the deviations of a dataset's class means from their centre and those that were released.

    Returns:
        In [-1, 1]; 0 where all means are the same, None where fewer than two classes have images.
    """
    seen = [target for target, rows in enumerate(points) if np.isfinite(rows).any()]
    if len(seen) < 2:
        return None
    made = np.stack([np.nanmean(points[target], axis=0) for target in seen])
    own, theirs = (rows - rows.mean(axis=0) for rows in (made, aims_of(measured)[seen]))
    scale = float(np.linalg.norm(own) * np.linalg.norm(theirs))
    return float((own * theirs).sum()) / scale if scale else 0.0


def _round(name: str, number: float | None) -> float | None:
    """Round to ``DIGITS`` behind the point, and of a large number to as many as two machines agree on."""
    if number is None or name == "agreement":
        return None if number is None else round(number, DIGITS)
    return round(float(f"{number:.{SIGNIFICANT}g}"), DIGITS)
