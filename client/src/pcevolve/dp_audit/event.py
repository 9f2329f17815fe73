"""Learn, from one half of the releases, an event that tells two datasets apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pcevolve.dp_audit.bound import FloatArray, Inference, IntArray

THRESHOLDS = 400


@dataclass(frozen=True)
class Outcomes:
    """All that many simulated runs released, one row each.

    Attributes:
        chosen: int64 ``(runs, draws)``: indices that were drawn.
        noisy: float64 ``(runs, numbers)``: numbers that were released with noise.
    """

    chosen: IntArray
    noisy: FloatArray

    @classmethod
    def of(cls, runs: Sequence[Sequence[Mapping[str, NDArray[np.generic]]]]) -> Outcomes:
        """From the measurements of every round of every run."""
        arrays = [[each[name].ravel() for each in rounds for name in sorted(each)] for rounds in runs]
        return cls(
            np.array(
                [_join([each for each in run if each.dtype.kind != "f"]) for run in arrays], dtype=np.int64
            ),
            np.array(
                [_join([each for each in run if each.dtype.kind == "f"]) for run in arrays],
                dtype=np.float64,
            ),
        )

    def halves(self) -> tuple[Outcomes, Outcomes]:
        """The first half of the runs and the second."""
        half = len(self.chosen) // 2
        return (
            Outcomes(self.chosen[:half], self.noisy[:half]),
            Outcomes(self.chosen[half : 2 * half], self.noisy[half : 2 * half]),
        )

    def __len__(self) -> int:
        return len(self.chosen)


@dataclass(frozen=True)
class Score:
    """An estimated log-likelihood ratio of the second dataset to the first, summed over all that was released.

    Rounds with fixed candidates are independent given the dataset, so their log-likelihood ratios add up.

    Attributes:
        evidence: For every draw, the log-ratio of each index.
        weights: float64 ``(numbers,)``: Fisher's direction, mean difference over variance.
    """

    evidence: tuple[Mapping[int, float], ...]
    weights: FloatArray

    @classmethod
    def learnt(cls, first: Outcomes, second: Outcomes) -> Score:
        """From releases of the two datasets."""
        draws = range(first.chosen.shape[1])
        evidence = tuple(_log_ratios(first.chosen[:, draw], second.chosen[:, draw]) for draw in draws)
        return cls(evidence, _direction(first.noisy, second.noisy))

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        """float64 ``(runs,)``; an index never seen before says nothing."""
        total = outcomes.noisy @ self.weights
        for draw, ratios in enumerate(self.evidence):
            total = total + np.array([ratios.get(int(index), 0.0) for index in outcomes.chosen[:, draw]])
        return np.asarray(total, dtype=np.float64)


@dataclass(frozen=True)
class Distinguisher:
    """The event that a score lies on one side of a threshold.

    Attributes:
        score: What is compared.
        threshold: What it is compared with.
        likelier: On which dataset the event happens more often: the second one has the high scores.
    """

    score: Score
    threshold: float
    likelier: Literal["first", "second"]

    def count(self, outcomes: Outcomes) -> int:
        """Count the runs in which it happened."""
        scores = self.score(outcomes)
        return int((scores >= self.threshold if self.likelier == "second" else scores < self.threshold).sum())

    def __str__(self) -> str:
        side = ">=" if self.likelier == "second" else "<"
        return f"log-likelihood score {side} {self.threshold:.4g}"


def most_telling(first: Outcomes, second: Outcomes, inference: Inference) -> Distinguisher:
    """The event that shows most on these releases, of both directions and many thresholds.

    Nothing is claimed from the releases that it was chosen on, so trying many costs no confidence.
    """
    score = Score.learnt(first, second)
    runs, low, high = len(first), np.sort(score(first)), np.sort(score(second))
    levels = np.linspace(0, 1, THRESHOLDS)
    thresholds = np.unique(np.quantile(np.concatenate([low, high]), levels, method="nearest"))
    below_first, below_second = np.searchsorted(low, thresholds), np.searchsorted(high, thresholds)
    above = inference.strengths(runs - below_second, runs - below_first, runs)
    below = inference.strengths(below_first, below_second, runs)
    if above.max() >= below.max():
        return Distinguisher(score, float(thresholds[above.argmax()]), "second")
    return Distinguisher(score, float(thresholds[below.argmax()]), "first")


def _join(arrays: list[NDArray[np.generic]]) -> NDArray[np.generic]:
    return np.concatenate(arrays) if arrays else np.zeros(0)


def _log_ratios(first: IntArray, second: IntArray) -> dict[int, float]:
    indices = np.unique(np.concatenate([first, second]))
    # Half a count more for each, so that an index seen on one side alone is strong evidence and not infinite.
    before, after = ((column[:, None] == indices).sum(axis=0) + 0.5 for column in (first, second))
    return dict(zip(indices.tolist(), np.log(after / before).tolist(), strict=True))


def _direction(first: FloatArray, second: FloatArray) -> FloatArray:
    difference = second.mean(axis=0) - first.mean(axis=0)
    spread = (first.var(axis=0) + second.var(axis=0)) / 2
    # A number without noise has no spread: if it differs it decides alone, if it does not it says nothing.
    return np.where(difference == 0, 0.0, difference / (spread + 1e-12 * difference**2 + 1e-300))
