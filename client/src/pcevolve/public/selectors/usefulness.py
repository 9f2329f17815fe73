"""Compare a dataset with what was released about the private classes: post-processing, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load

from pcevolve.public.assessed import DIGITS, AssessedFigures
from pcevolve.public.dp.calibration import DEVIATION_RADIUS
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.geometry.distances import squared_distances
from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.lineage import Pool
from pcevolve.public.media.images.appearance import find_released_appearance
from pcevolve.public.privacy import Events
from pcevolve.public.release import Candidate, Chosen, Receipt
from pcevolve.public.selectors.choosing import Chooser, choose_renditions
from pcevolve.public.selectors.means import aims_of, means_of
from pcevolve.public.selectors.scene import Measurement, SelectionInput, join_scenes
from pcevolve.public.selectors.sums import CentreFirst

SIGNIFICANT = 4
"""Digits of a large number that embeddings of six digits leave certain."""
UNSURE = 1e-4
"""By how much two machines may differ in a figure before it is rounded: its share, or of one. Embeddings that differ by
a millionth move the first by 8 millionths, the others by less than one."""
STEP = 10.0**-DIGITS
Dataset = Mapping[str, Sequence[Candidate | Chosen]]


class Figures(NamedTuple):
    """The figures of an assessment before they are rounded; the last says how far the one before may be off."""

    classes_apart: float | None
    distance: float
    agreement: float | None
    words_agree: float | None = None
    words_unsure: float = 0.0

    @property
    def _told(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in AssessedFigures.model_fields}

    def round(self) -> AssessedFigures:
        """The assessment as it goes on record."""
        return AssessedFigures(**{name: _round(name, value) for name, value in self._told.items()})

    def could_round_to(self, recorded: AssessedFigures) -> bool:
        """True if this is what was recorded, as this or another machine rounds it."""
        return all(
            getattr(recorded, name) in [_round(name, each) for each in _list_near(name, value)]
            for name, value in self._told.items()
            if name != "words_agree"
        ) and self._could_agree(recorded.words_agree)

    def _could_agree(self, recorded: float | None) -> bool:
        """True if the words' own images may agree so far, where some of them lie between two classes."""
        if self.words_agree is None or recorded is None:
            return recorded == self.words_agree
        reach = self.words_unsure + UNSURE
        inside = self.words_agree - reach - STEP / 2 <= recorded <= self.words_agree + reach + STEP / 2
        return inside and recorded == round(recorded, DIGITS)


def assess(
    chooser: Chooser,
    receipts: Sequence[Receipt],
    pool: Callable[[int], Pool],
    dataset: Dataset,
    stored: Callable[[str], bytes],
) -> AssessedFigures | None:
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
    far = distance(measured, scene, last.events, points)
    if far is None:
        return None
    found = classes_apart(measured, scene, last.events), far, agreement(measured, points)
    asked = pool(last.iteration).candidates
    first = [[each for each in asked[label] if not each.iteration] for label in plan.labels]
    words = [chooser.points(each, shown, measured) for each in first]
    return Figures(*found, *agree_by_words(measured, words, scene.ruler(measured)))


def classes_apart(measured: Measurement, scene: SelectionInput, events: Events) -> float | None:
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
    noisy, sigma, _ = CentreFirst(scene.coordinates, scene, events).recover_noisy_deviations(measured)
    spread = float(np.square((noisy - noisy.mean(axis=0)) / sigma).sum()) / (classes - 1)
    # Noise alone can make the spread smaller than its mean; the difference
    # then says nothing, and not less than nothing.
    return float(np.sqrt(2 * max(spread - noisy.shape[1], 0.0)))


def distance(
    measured: Measurement, scene: SelectionInput, events: Events, points: Sequence[FloatArray]
) -> float | None:
    """Mean distance of a dataset's images to their class, in clip radii; None without images.

    Noise moves a released class off its place, by a length that is public and adds to the distance as the sides of a
    right angle do, because it knows nothing of the images. It is taken off: what remains is the distance to the class.

    Args:
        points: Of each class, float64 ``(images, k)`` in the frame of the release; rows that are not finite are no
            images, and a class without any does not count.
    """
    gaps = [
        float(np.nanmean(np.linalg.norm(rows - aim, axis=1)))
        for rows, aim in zip(points, aims_of(measured), strict=True)
        if np.isfinite(rows).any()
    ]
    if not gaps:
        return None
    # Aims are stretched deviations, and so is their noise.
    noise = CentreFirst(scene.coordinates, scene, events).deviation_noise / DEVIATION_RADIUS
    return math.sqrt(max(float(np.mean(gaps)) ** 2 - noise**2, 0.0)) / scene.coordinates.radius


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


def agree_by_words(
    measured: Measurement, points: Sequence[FloatArray], ruler: Ruler
) -> tuple[float | None, float]:
    """Share of the words' own images to which the class that was asked for is the nearest of the released ones.

    Args:
        points: Of each class, float64 ``(images, k)`` of what the provider made by words alone.

    Returns:
        In [-1, 1], 0 being what chance gives and 1 all; None where there is one class, or nothing was made. And by how
        much another machine may differ, because images lie between two classes.
    """
    classes, rows = len(points), np.concatenate(points)
    usable = np.isfinite(rows).all(axis=1)
    if classes < 2 or not usable.any():
        return None, 0.0
    own = np.repeat(np.arange(classes), [len(each) for each in points])[usable]
    far = np.sqrt(squared_distances(rows[usable], means_of(measured)))
    least, most = ruler.bound_steps(far)
    share = float(np.mean(ruler.count_steps(far).argmin(axis=1) == own))
    others = np.arange(classes) != own[:, None]
    places = np.arange(len(own))
    sure = most[places, own] < np.where(others, least, np.inf).min(axis=1)
    lost = least[places, own] > np.where(others, most, np.inf).min(axis=1)
    between = len(own) - int(np.count_nonzero(sure) + np.count_nonzero(lost))
    return (share * classes - 1) / (classes - 1), between / len(own) * classes / (classes - 1)


def separability(points: Sequence[FloatArray]) -> float | None:
    """How well images of classes are told apart, each by the mean of all others of its class.

    Args:
        points: Of each class, float64 ``(images, d)``; rows that are not finite are no images.

    Returns:
        The share of images that lie nearest to their own class, with chance at 0 and all at 1; None where fewer than
        two classes have two images.
    """
    kept = [rows[np.isfinite(rows).all(axis=1)] for rows in points]
    kept = [rows for rows in kept if len(rows) > 1]
    if len(kept) < 2:
        return None
    means, right = np.stack([rows.mean(axis=0) for rows in kept]), []
    for own, rows in enumerate(kept):
        far = np.sqrt(squared_distances(rows, means))
        # The mean without an image lies farther from it than the mean with it, by the size of the class.
        far[:, own] *= len(rows) / (len(rows) - 1)
        right.append(far.argmin(axis=1) == own)
    classes = len(kept)
    return float((np.mean(np.concatenate(right)) * classes - 1) / (classes - 1))


def _list_near(name: str, value: float | None) -> list[float | None]:
    """A figure, and the least and the most that another machine may find for it."""
    if value is None:
        return [None]
    reach = UNSURE * max(1.0, abs(value))
    if name != "distance":
        return [value, value - reach, value + reach]
    # What is taken off is the same on all machines, and of squares: near 0 the root is as unsure as it is steep.
    return [value, *(math.sqrt(max(value**2 + each * 4 * reach, 0.0)) for each in (-1, 1))]


def _round(name: str, number: float | None) -> float | None:
    """Round to ``DIGITS`` behind the point, and of a large number to as many as two machines agree on."""
    if number is None or name == "agreement":
        return None if number is None else round(number, DIGITS)
    return round(float(f"{number:.{SIGNIFICANT}g}"), DIGITS)
