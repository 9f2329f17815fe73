"""Compare a dataset with the released facts about the private classes. This is post-processing of public numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load

from pcevolve.public.dp.calibration import DEVIATION_RADIUS
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.encoders import OF_SEVERAL
from pcevolve.public.geometry.distances import squared_distances
from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.media.images.appearance import find_released_appearance
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Events
from pcevolve.public.publish.assessed import DIGITS, AssessedFigures
from pcevolve.public.publish.usefulness import MEASURED_NOISE, choose_alike
from pcevolve.public.release import Candidate, Chosen, Receipt
from pcevolve.public.selectors.choosing import Chooser, choose_renditions
from pcevolve.public.selectors.means import aims_of, means_noise, means_of
from pcevolve.public.selectors.method import scope_of
from pcevolve.public.selectors.selection import Measurement, SelectionInput, join_renditions
from pcevolve.public.selectors.sums import CentreFirst

SIGNIFICANT = 4
"""Number of digits of a large figure in which machines agree, if their embeddings agree in six digits."""
UNSURE = 1e-4
"""Largest difference between two machines in a figure before it is rounded.

The difference is relative for figures above 1, and absolute for smaller figures. If embeddings differ by a millionth,
``classes_apart`` changes by 8 millionths, and each other figure by less than one millionth.
"""
STEP = 10.0**-DIGITS
NEAREST = 1 / 4
"""Share of a class's images that count as nearest to the class.

If only a few images show the domain, this share contains them.
"""
Dataset = Mapping[str, Sequence[Candidate | Chosen]]


class Figures(NamedTuple):
    """The figures of an assessment before rounding. ``words_unsure`` bounds how much ``words_agree`` may differ."""

    classes_apart: float | None
    distance: float
    nearest: float
    agreement: float | None
    words_agree: float | None = None
    words_unsure: float = 0.0
    alike: float | None = None

    @property
    def _rounded_figures(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in AssessedFigures.model_fields}

    def round(self) -> AssessedFigures:
        """Round the figures for the record."""
        return AssessedFigures(**{name: _round(name, value) for name, value in self._rounded_figures.items()})

    def could_round_to(self, recorded: AssessedFigures) -> bool:
        """Return True if this or another machine could round these figures to the recorded figures."""
        return all(
            getattr(recorded, name) in [_round(name, each) for each in _list_near(name, value)]
            for name, value in self._rounded_figures.items()
            if name != "words_agree"
        ) and self._could_agree(recorded.words_agree)

    def _could_agree(self, recorded: float | None) -> bool:
        """Return True if ``words_agree`` could be the recorded value, given images that lie between two classes."""
        if self.words_agree is None or recorded is None:
            return recorded == self.words_agree
        # The margin covers images that lie between two classes, and the last digits of any distance.
        margin = self.words_unsure + UNSURE
        inside = self.words_agree - margin - STEP / 2 <= recorded <= self.words_agree + margin + STEP / 2
        return inside and recorded == round(recorded, DIGITS)


def assess(
    chooser: Chooser,
    receipts: Sequence[Receipt],
    pool: Callable[[int], Pool],
    dataset: Dataset,
    stored: Callable[[str], bytes],
) -> AssessedFigures | None:
    """Assess a run's dataset (see ``find_figures``)."""
    found = find_figures(chooser, receipts, pool, dataset, stored)
    return None if found is None else found.round()


def find_figures(
    chooser: Chooser,
    receipts: Sequence[Receipt],
    pool: Callable[[int], Pool],
    dataset: Dataset,
    stored: Callable[[str], bytes],
) -> Figures | None:
    """Return the figures of a dataset, or None if its run released no means around a centre or has no images.

    Args:
        pool: Returns the pool from which an iteration's release chose.
        stored: Returns a stored measurement by digest.
    """
    plan = chooser.plan
    paid = [each for each in receipts if each.iteration and each.measured]
    # Every figure subtracts the length by which noise displaced a class. It is known only for means around a centre.
    if not plan.centre_first or not paid:
        return None
    # The last release had the most candidates, and the dataset was chosen by it.
    last, look = paid[-1], next((each for each in receipts if not each.iteration), None)
    inputs = join_renditions(
        chooser.find_inputs(last.iteration, pool(last.iteration), choose_renditions(plan, look))
    )
    measured = load(stored(last.measured))
    # The means are coordinates in the recorded frame. Another machine's frame may differ in the last digits.
    inputs = inputs.with_recorded_frame(measured["centre"], measured["axes"])
    shown = find_released_appearance(receipts)
    points = [chooser.points(dataset[label], shown, measured) for label in plan.labels]
    far = distances(measured, inputs, last.events, points)
    if far is None:
        return None
    found = classes_apart(measured, inputs, last.events), *far, agreement(measured, points)
    asked = pool(last.iteration).candidates
    # No release has influenced images of the first generation, so they show what the words alone give.
    first = [[each for each in asked[label] if not each.iteration] for label in plan.labels]
    words = [chooser.points(each, shown, measured) for each in first]
    alike = find_alike(plan, last.events)
    return Figures(*found, *agree_by_words(measured, words, inputs.ruler(measured)), alike)


def find_alike(plan: PublicPlan, events: Events) -> float | None:
    """Return the least agreement of a dataset that is called useful; None if agreement alone does not decide.

    Agreement decides if several encoders selected, and if the noise is at most the noise at which the limit
    was measured.

    Args:
        plan: The plan of the run.
        events: The events that paid for the class means.
    """
    if plan.encoder.name not in OF_SEVERAL or means_noise(events, scope_of(plan)) > MEASURED_NOISE:
        return None
    return choose_alike(plan.data.shots)


def classes_apart(measured: Measurement, inputs: SelectionInput, events: Events) -> float | None:
    """Return the distance between two released class means, in standard deviations of the noise on each of them.

    The distance is the root mean squared distance over all pairs of the ``C`` classes. Noise alone gives an expected
    square of ``2 k`` over ``k`` coordinates, which is subtracted. Without any difference between classes the expected
    result is therefore 0. With twice the shots or half the noise the distance doubles, for any ``C`` and ``k``. The
    smallest distance of a pair would be more cautious, but the smallest of several noisy distances is always far too
    small.

    Returns:
        None if there is one class. 0 if noise alone would separate the means as far, or if all candidates are equal.
    """
    classes = len(inputs.labels)
    if classes == 1:
        return None
    noisy, sigma, _ = CentreFirst(inputs.coordinates, inputs, events).recover_noisy_deviations(measured)
    spread = float(np.square((noisy - noisy.mean(axis=0)) / sigma).sum()) / (classes - 1)
    # Noise alone can make the spread smaller than expected. The distance is then 0, because it cannot be negative.
    return float(np.sqrt(2 * max(spread - noisy.shape[1], 0.0)))


def distances(
    measured: Measurement, inputs: SelectionInput, events: Events, points: Sequence[FloatArray]
) -> tuple[float, float] | None:
    """Return two mean distances to the class means, in clip radii: of a dataset's images, and of the nearest of them.

    The nearest images are the nearest quarter of each class. Without images the result is None.

    Noise displaces a released class mean by a length that is public. The displacement is independent of the images, so
    its square adds to the square of the true distance. The square of the displacement is therefore subtracted, to
    estimate the distance to the true class mean.

    Args:
        points: For each class, float64 ``(images, k)`` in the frame of the release. Rows that are not finite belong
            to unusable images, and a class without usable images does not count.
    """
    of_all = (np.linalg.norm(rows - aim, axis=1) for rows, aim in zip(points, aims_of(measured), strict=True))
    # Sorted, because the second figure takes the nearest quarter of each class.
    far = [np.sort(gaps[np.isfinite(gaps)]) for gaps in of_all if np.isfinite(gaps).any()]
    if not far:
        return None
    # Aims are stretched deviations, so their noise is stretched as well.
    noise = CentreFirst(inputs.coordinates, inputs, events).deviation_noise / DEVIATION_RADIUS

    def take_noise_off(gaps: Sequence[FloatArray]) -> float:
        # The mean of the classes' means, so that a class with few usable images counts as much as the others.
        mean = float(np.mean([each.mean() for each in gaps]))
        return math.sqrt(max(mean**2 - noise**2, 0.0)) / inputs.coordinates.radius

    return take_noise_off(far), take_noise_off([each[: math.ceil(NEAREST * len(each))] for each in far])


def agreement(measured: Measurement, points: Sequence[FloatArray]) -> float | None:
    """Return the cosine between the dataset's class means and the released class means, each relative to their centre.

    Returns:
        A cosine in [-1, 1]. 0 if all means are equal, None if fewer than two classes have images.
    """
    seen = [target for target, rows in enumerate(points) if np.isfinite(rows).any()]
    # A single class has no other class from which it could differ.
    if len(seen) < 2:
        return None
    made = np.stack([np.nanmean(points[target], axis=0) for target in seen])
    own, theirs = (rows - rows.mean(axis=0) for rows in (made, aims_of(measured)[seen]))
    scale = float(np.linalg.norm(own) * np.linalg.norm(theirs))
    return float((own * theirs).sum()) / scale if scale else 0.0


def agree_by_words(
    measured: Measurement, points: Sequence[FloatArray], ruler: Ruler
) -> tuple[float | None, float]:
    """Return the share of images made from words alone whose nearest released class is the requested class.

    Args:
        points: For each class, float64 ``(images, k)`` of the images that the provider made from words alone.

    Returns:
        The share, scaled to 0 for chance and 1 for all images, or None if there is one class or no image. The second
        number is the largest difference to another machine's share, because some images lie between two classes.
    """
    classes, rows = len(points), np.concatenate(points)
    usable = np.isfinite(rows).all(axis=1)
    if classes < 2 or not usable.any():
        return None, 0.0
    # The requested class of each image that could be decoded.
    own = np.repeat(np.arange(classes), [len(each) for each in points])[usable]
    far = np.sqrt(squared_distances(rows[usable], means_of(measured)))
    least, most = ruler.bound_steps(far)
    share = float(np.mean(ruler.count_steps(far).argmin(axis=1) == own))
    others = np.arange(classes) != own[:, None]
    places = np.arange(len(own))
    sure = most[places, own] < np.where(others, least, np.inf).min(axis=1)
    lost = least[places, own] > np.where(others, most, np.inf).min(axis=1)
    between = len(own) - int(np.count_nonzero(sure) + np.count_nonzero(lost))
    # Scaled so that 0 is chance and 1 is all images, which makes shares of two and of ten classes comparable.
    return (share * classes - 1) / (classes - 1), between / len(own) * classes / (classes - 1)


def separability(points: Sequence[FloatArray]) -> float | None:
    """Measure how well images are classified by the mean of all other images of each class.

    Args:
        points: For each class, float64 ``(images, d)``. Rows that are not finite belong to unusable images.

    Returns:
        The share of images that are nearest to the mean of their own class, scaled to 0 for chance and 1 for all
        images. None if fewer than two classes have two images.
    """
    kept = [rows[np.isfinite(rows).all(axis=1)] for rows in points]
    # A single image of a class has no other images whose mean could be computed.
    kept = [rows for rows in kept if len(rows) > 1]
    if len(kept) < 2:
        return None
    means, right = np.stack([rows.mean(axis=0) for rows in kept]), []
    for own, rows in enumerate(kept):
        far = np.sqrt(squared_distances(rows, means))
        # Leaving the image out moves the mean away from it, by a factor that depends on the size of the class.
        far[:, own] *= len(rows) / (len(rows) - 1)
        right.append(far.argmin(axis=1) == own)
    classes = len(kept)
    return float((np.mean(np.concatenate(right)) * classes - 1) / (classes - 1))


def _list_near(name: str, value: float | None) -> list[float | None]:
    """Return a figure, and the smallest and largest value that another machine may compute."""
    if value is None:
        return [None]
    margin = UNSURE * max(1.0, abs(value))
    # Only these two figures are roots of a difference.
    if name not in ("distance", "nearest"):
        return [value, value - margin, value + margin]
    # The subtracted square of the noise is the same on all machines. Near 0 the root is steep, so it magnifies the
    # difference.
    return [value, *(math.sqrt(max(value**2 + each * 4 * margin, 0.0)) for each in (-1, 1))]


def _round(name: str, number: float | None) -> float | None:
    """Round to ``DIGITS`` decimals, and a large number to the digits on which two machines agree."""
    if number is None or name == "agreement":
        return None if number is None else round(number, DIGITS)
    # Significant digits, because the difference of a figure between machines is proportional to the figure.
    return round(float(f"{number:.{SIGNIFICANT}g}"), DIGITS)
