"""How much of what private images teach a dataset teaches, by judges that did not vote, with 95 % intervals; private.

A test item is one draw of many, and so is a seed of a head. Both are drawn again and again (bootstrap), for all sets at
once, because sets are compared on the same items. So is a control, whose images are one draw of many that cost as
little. Other draws of the private images, or of the noise, are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Right: TypeAlias = NDArray[np.bool_]
"""Whether a judge was right, bool ``(seeds, items)``."""
Accuracies: TypeAlias = NDArray[np.float64]
"""One for each draw of a control."""
WORTHY: Final = 0.5
"""Share of the way from chance to the private images from which a dataset is worth having."""
LEAST_ITEMS: Final = 30
"""Test items; of fewer, resampling tells too little of how far figures may be off."""
RESAMPLES: Final = 2000
DATASET, SHOTS = "dataset", "private images"


class Interval(NamedTuple):
    """A figure and its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, mean: float, drawn: NDArray[np.float64]) -> Interval:
        """Summarise what resampling drew."""
        return cls(mean, *(float(each) for each in np.quantile(drawn, (0.025, 0.975))))


@dataclass(frozen=True, repr=False)
class Worth:
    """What judges that did not vote found of a dataset; private.

    Attributes:
        judges: Their names.
        items: Held-out items that they were asked about.
        share: Of the way from chance to the private images, what the dataset goes; None where these teach too little,
            or were not given.
        ahead: How much more accurate than what costs no privacy, by its name.
        accuracies: Of each set, the mean of the judges.
    """

    judges: tuple[str, ...]
    items: int
    share: Interval | None
    ahead: Mapping[str, Interval]
    accuracies: Mapping[str, Interval]

    @classmethod
    def of(
        cls, answers: Mapping[str, Mapping[str, Right]], classes: int, redrawn: Mapping[str, Accuracies]
    ) -> Worth:
        """Compare sets of images by what was trained on them.

        Args:
            answers: Of each judge, by set: ``DATASET``, and ``SHOTS`` and whatever else it is compared with.
            redrawn: Of each control, by its name, accuracies after training on other draws of it.
        """
        # Seeded, and nobody is protected by it: the same figures each time they are asked for.
        random = np.random.default_rng(2026)
        first = next(iter(answers.values()))
        items = first[DATASET].shape[1]
        weights = random.multinomial(items, np.full(items, 1 / items), size=RESAMPLES) / items
        means = {name: float(np.mean([each[name].mean() for each in answers.values()])) for name in first}
        drawn = {
            name: np.mean([_resample(each[name], weights, random) for each in answers.values()], axis=0)
            for name in first
        }
        for name, again in redrawn.items():
            drawn[name] = np.clip(drawn[name] + _draw_control(again, random), 0, 1)
        chance = 1 / classes
        share = None
        if SHOTS in first and Interval.of(means[SHOTS] - chance, drawn[SHOTS] - chance).low > 0:
            way = np.maximum(drawn[SHOTS] - chance, 1e-9)
            mean = (means[DATASET] - chance) / (means[SHOTS] - chance)
            share = Interval.of(mean, (drawn[DATASET] - chance) / way)
        others = [name for name in first if name not in (DATASET, SHOTS)]
        ahead = {
            name: Interval.of(means[DATASET] - means[name], drawn[DATASET] - drawn[name]) for name in others
        }
        accuracies = {name: Interval.of(means[name], drawn[name]) for name in first}
        return cls(tuple(answers), items, share, ahead, accuracies)

    @property
    def word(self) -> Literal["useful", "doubtful", "not useful", "unknown"]:
        """*Useful*: half of the way and more, and ahead of what costs nothing; *doubtful* where intervals hold both.

        *Unknown* without private images, unless what costs nothing is as good.
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
        """The name of what costs no privacy and is surely as good; None if nothing is."""
        return next((name for name, each in self.ahead.items() if each.high <= 0), None)

    @property
    def unsure(self) -> str | None:
        """The name of what costs no privacy and may be as good; None if nothing may."""
        return next((name for name, each in self.ahead.items() if each.low <= 0), None)


def _resample(right: Right, weights: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    """Accuracies over items drawn again, each the mean of as many seeds drawn again, float64 ``(resamples,)``."""
    by_seed = weights @ right.T.astype(np.float64)
    seeds = random.integers(len(right), size=(len(weights), len(right)))
    return np.asarray(np.take_along_axis(by_seed, seeds, axis=1).mean(axis=1))


def _draw_control(accuracies: Accuracies, random: np.random.Generator) -> NDArray[np.float64]:
    """How far one draw of a control takes its accuracy from that of all, float64 ``(resamples,)``.

    A few draws tell their spread roughly, which Student's t makes up for.
    """
    return np.asarray(
        accuracies.std(ddof=1) * random.standard_t(len(accuracies) - 1, RESAMPLES), dtype=np.float64
    )
