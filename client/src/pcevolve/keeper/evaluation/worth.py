"""Estimate how much of the private images' teaching value a dataset has, by judges that did not vote; private.

All figures have 95 % intervals, by bootstrap. Test items and seeds of a head are resampled, jointly for all
sets, because sets are compared on the same items. A control is resampled too, because its images are only
one of many draws that could have been made as cheaply. The intervals do not cover other draws of the
private images or of the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Right: TypeAlias = NDArray[np.bool_]
"""Whether each prediction of a judge was right, bool ``(seeds, items)``."""
Accuracies: TypeAlias = NDArray[np.float64]
"""One accuracy for each draw of a control."""
LEARNT: Final = 0.5
"""A judge counts only if its accuracy on its training images is at least chance + ``LEARNT`` * (1 - chance)."""
Failure: TypeAlias = Literal["untrained", "at chance"]
"""Why a judge is left out: it did not learn the private images, or they taught it nothing about held-out ones."""
WORTHY: Final = 0.5
"""Least share of the private images' gain over chance with which a dataset is worth having."""
LEAST_ITEMS: Final = 30
"""Fewest test items for a verdict; with fewer, resampling underestimates the error."""
RESAMPLES: Final = 2000
"""Number of resamples; 50 of them lie beyond each end of an interval."""
DATASET, SHOTS = "dataset", "private images"


class Interval(NamedTuple):
    """A figure and its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, mean: float, drawn: NDArray[np.float64]) -> Interval:
        return cls(mean, *(float(each) for each in np.quantile(drawn, (0.025, 0.975))))


@dataclass(frozen=True, repr=False)
class Worth:
    """The findings about a dataset by judges that did not vote; private.

    Attributes:
        judges: The judges' names.
        items: Number of held-out items.
        share: The dataset's gain over chance, as a share of the private images' gain; None without private
            images, or if all judges failed.
        ahead: The dataset's accuracy minus that of each set that costs no privacy, by name.
        accuracies: The judges' mean accuracy, by training set.
        failed: Judges that are left out of all figures, and why: they did not learn the private images, or
            learnt nothing from them. Dividing by such a judge's gain, which is near 0, would give a random
            share.
    """

    judges: tuple[str, ...]
    items: int
    share: Interval | None
    ahead: Mapping[str, Interval]
    accuracies: Mapping[str, Interval]
    failed: Mapping[str, Failure] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        answers: Mapping[str, Mapping[str, Right]],
        classes: int,
        redrawn: Mapping[str, Accuracies],
        learnt: Mapping[str, float] | None = None,
    ) -> Worth:
        """Compare sets of images by the classifiers trained on them.

        Args:
            answers: Whether each judge's predictions were right, by training set: ``DATASET``, ``SHOTS``,
                ...
            redrawn: For each control, by name, accuracies after training on other draws of the control.
            learnt: For each judge, the worst seed's accuracy on the private images that it was trained on.
        """
        # A fixed seed, so that the figures are the same each time; these draws protect nothing.
        random = np.random.default_rng(2026)
        first = next(iter(answers.values()))
        items = first[DATASET].shape[1]
        weights = random.multinomial(items, np.full(items, 1 / items), size=RESAMPLES) / items
        failed = _find_failed(answers, 1 / classes, learnt or {}, weights)
        # If all judges failed, the figures are those of all judges, and none compares with the private
        # images.
        answers = {name: each for name, each in answers.items() if name not in failed} or answers
        means = {name: float(np.mean([each[name].mean() for each in answers.values()])) for name in first}
        drawn = {
            name: np.mean([_resample(each[name], weights, random) for each in answers.values()], axis=0)
            for name in first
        }
        for name, again in redrawn.items():
            drawn[name] = np.clip(drawn[name] + _draw_control(again, random), 0, 1)
        chance = 1 / classes
        share = None
        if SHOTS in first and not failed.keys() & answers.keys():
            way = np.maximum(drawn[SHOTS] - chance, 1e-9)
            mean = (means[DATASET] - chance) / (means[SHOTS] - chance)
            share = Interval.of(mean, (drawn[DATASET] - chance) / way)
        others = [name for name in first if name not in (DATASET, SHOTS)]
        ahead = {
            name: Interval.of(means[DATASET] - means[name], drawn[DATASET] - drawn[name]) for name in others
        }
        accuracies = {name: Interval.of(means[name], drawn[name]) for name in first}
        return cls(tuple(answers), items, share, ahead, accuracies, failed)

    @property
    def word(self) -> Literal["useful", "doubtful", "not useful", "unknown"]:
        """The verdict.

        *useful*: at least half of the private images' gain over chance, and more accurate than every set
        that costs no privacy. *not useful*: surely less than half, or surely no better than such a set.
        *doubtful*: the intervals allow both. *unknown*: there are no private images, and no set that costs
        no privacy is surely at least as accurate as the dataset.
        """
        if SHOTS not in self.accuracies:
            return "unknown" if self.items < LEAST_ITEMS or self.matched is None else "not useful"
        if self.share is None or self.items < LEAST_ITEMS:
            return "doubtful"
        if self.share.high < WORTHY or self.matched is not None:
            return "not useful"
        return "useful" if self.share.low >= WORTHY and self.unsure is None else "doubtful"

    @property
    def matched(self) -> str | None:
        """Name of a set that costs no privacy and is surely as accurate as the dataset or more; None without one."""
        return next((name for name, each in self.ahead.items() if each.high <= 0), None)

    @property
    def unsure(self) -> str | None:
        """Name of a set that costs no privacy and may be as accurate as the dataset or more; None without one."""
        return next((name for name, each in self.ahead.items() if each.low <= 0), None)


def _find_failed(
    answers: Mapping[str, Mapping[str, Right]],
    chance: float,
    learnt: Mapping[str, float],
    weights: NDArray[np.float64],
) -> dict[str, Failure]:
    """Find judges that did not learn the private images, or are not surely above chance after training on them."""
    random = np.random.default_rng(2027)
    failed: dict[str, Failure] = {}
    for name, each in answers.items():
        if learnt.get(name, 1.0) < chance + LEARNT * (1 - chance):
            failed[name] = "untrained"
        elif SHOTS in each and np.quantile(_resample(each[SHOTS], weights, random), 0.025) <= chance:
            failed[name] = "at chance"
    return failed


def _resample(right: Right, weights: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Return accuracies over resampled items and seeds, float64 ``(resamples,)``."""
    by_seed = weights @ right.T.astype(np.float64)
    seeds = random.integers(len(right), size=(len(weights), len(right)))
    return np.asarray(np.take_along_axis(by_seed, seeds, axis=1).mean(axis=1))


def _draw_control(accuracies: Accuracies, random: np.random.Generator) -> NDArray[np.float64]:
    """Return, for each resample, how far one draw of a control is from the control's mean accuracy.

    The result is float64 ``(resamples,)``.

    Student's t distribution allows for the few draws from which the spread is estimated.
    """
    return np.asarray(
        accuracies.std(ddof=1) * random.standard_t(len(accuracies) - 1, RESAMPLES), dtype=np.float64
    )
