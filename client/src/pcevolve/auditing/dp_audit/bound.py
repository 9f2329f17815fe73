"""Learn an event that distinguishes two datasets from half of the releases, and bound ε by its counts in the others.

The bound is valid whatever the mechanism claims.

Source: Jagielski, Ullman & Oprea 2020 ("Auditing Differentially Private Machine Learning"), section 4, with
the intervals of Clopper & Pearson 1934; for Gaussian noise Nasr et al. 2023 ("Tight Auditing"), section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from pcevolve.public.dp.accountants import GDP
from pcevolve.public.privacy import Event

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
THRESHOLDS = 400


@dataclass(frozen=True)
class AnyMechanism:
    """The bound ``ln((p - δ) / q)``, because (ε, δ)-DP implies ``p ≤ exp(ε) q + δ``. It makes no other assumption.

    ``likely`` and ``rare`` count an event in ``runs`` releases of each dataset. ``likely`` is its count on the dataset
    on which it is likelier, and ``rare`` its count on the neighbour. The event must have been fixed before these runs
    were made. A bound is wrong with probability at most 1 - confidence.

    Attributes:
        name: The bound's assumption, in a word or two.
    """

    delta: float
    confidence: float
    name = "any mechanism"

    def strengths(self, likely: IntArray, rare: IntArray, runs: int) -> FloatArray:
        """Return the bound on ε from each event, float64 ``(events,)``, at least 0."""
        low, high = _limits(likely, rare, runs, self.confidence)
        ratio = np.maximum(low - self.delta, 0.0) / high
        return np.log(np.maximum(ratio, 1.0))

    def epsilon(self, likely: int, rare: int, runs: int) -> float:
        """Return the lower bound on ε that the counts of one event give for any mechanism."""
        return float(self.strengths(np.array([likely]), np.array([rare]), runs)[0])


@dataclass(frozen=True)
class GaussianMechanism:
    """The bound ``μ ≥ Φ⁻¹(p) - Φ⁻¹(q)``, which μ-GDP implies for every event; ε is the cost of this μ at δ.

    It applies to methods that claim μ-GDP, which all compositions of Gaussian noise satisfy. This claim is stronger
    than (ε, δ)-DP at one δ. Refuting it takes far fewer runs, because no event as rare as δ has to occur.
    """

    delta: float
    confidence: float
    name = "Gaussian mechanism"

    def strengths(self, likely: IntArray, rare: IntArray, runs: int) -> FloatArray:
        """Return the bound on μ from each event, float64 ``(events,)``, at least 0."""
        low, high = _limits(likely, rare, runs, self.confidence)
        return np.asarray(np.maximum(special.ndtri(low) - special.ndtri(high), 0.0), dtype=np.float64)

    def epsilon(self, likely: int, rare: int, runs: int) -> float:
        """Return the lower bound on ε at δ that the counts of one event give for a mechanism that claims μ-GDP."""
        mu = float(self.strengths(np.array([likely]), np.array([rare]), runs)[0])
        return GDP.epsilon([Event("gaussian", str(1 / Fraction(mu)))], self.delta) if mu > 0 else 0.0


Inference: TypeAlias = AnyMechanism | GaussianMechanism
"""Converts counts of an event to a bound on ε."""


def at_least(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Return the lower confidence limit of a probability, wrong with probability at most ``alpha``."""
    limits = stats.beta.ppf(alpha, hits, runs - hits + 1)
    return np.asarray(np.where(hits > 0, limits, 0.0), dtype=np.float64)


def at_most(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Return the upper confidence limit of a probability, wrong with probability at most ``alpha``."""
    limits = stats.beta.ppf(1 - alpha, hits + 1, runs - hits)
    return np.asarray(np.where(hits < runs, limits, 1.0), dtype=np.float64)


def _limits(likely: IntArray, rare: IntArray, runs: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    # Union bound: each limit is wrong with at most half of 1 - confidence, so both hold with confidence.
    alpha = (1 - confidence) / 2
    return at_least(likely, runs, alpha), at_most(rare, runs, alpha)


@dataclass(frozen=True)
class Outcomes:
    """The releases of the simulated runs, one row per run.

    Attributes:
        chosen: int64 ``(runs, draws)``, drawn indices.
        noisy: float64 ``(runs, numbers)``, numbers released with noise.
    """

    chosen: IntArray
    noisy: FloatArray

    @classmethod
    def of(cls, runs: Sequence[Sequence[Mapping[str, NDArray[np.generic]]]]) -> Outcomes:
        """Collect the measurements of every round of every run."""
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
        """Return the first and the second half of the runs."""
        half = len(self.chosen) // 2
        return (
            Outcomes(self.chosen[:half], self.noisy[:half]),
            Outcomes(self.chosen[half : 2 * half], self.noisy[half : 2 * half]),
        )

    def __len__(self) -> int:
        return len(self.chosen)


@dataclass(frozen=True)
class Score:
    """An estimated log-likelihood ratio of the second dataset to the first, summed over everything released.

    Given the dataset, rounds with fixed candidates are independent, so their log-likelihood ratios add up.

    Attributes:
        evidence: For every draw, the log-ratio of each index.
        weights: float64 ``(numbers,)``, Fisher's direction: the difference of the means, divided by the variance.
    """

    evidence: tuple[Mapping[int, float], ...]
    weights: FloatArray

    @classmethod
    def learn(cls, first: Outcomes, second: Outcomes) -> Score:
        """Estimate the score from releases of the two datasets."""
        draws = range(first.chosen.shape[1])
        evidence = tuple(_log_ratios(first.chosen[:, draw], second.chosen[:, draw]) for draw in draws)
        return cls(evidence, _direction(first.noisy, second.noisy))

    def __call__(self, outcomes: Outcomes) -> FloatArray:
        """Return the score of each run, float64 ``(runs,)``. An index that was not seen in training adds 0."""
        total = outcomes.noisy @ self.weights
        for draw, ratios in enumerate(self.evidence):
            total = total + np.array([ratios.get(int(index), 0.0) for index in outcomes.chosen[:, draw]])
        return np.asarray(total, dtype=np.float64)


@dataclass(frozen=True)
class Distinguisher:
    """The event that a score lies on one side of a threshold."""

    score: Score
    threshold: float
    likelier: Literal["first", "second"]

    def count(self, outcomes: Outcomes) -> int:
        """Count the runs in which the event occurred."""
        scores = self.score(outcomes)
        return int((scores >= self.threshold if self.likelier == "second" else scores < self.threshold).sum())

    def __str__(self) -> str:
        side = ">=" if self.likelier == "second" else "<"
        return f"log-likelihood score {side} {self.threshold:.4g}"


def find_best_distinguisher(first: Outcomes, second: Outcomes, inference: Inference) -> Distinguisher:
    """Return the event with the strongest bound on these releases, over both directions and many thresholds.

    The bound is later computed on other releases, so trying many events here costs no confidence.
    """
    score = Score.learn(first, second)
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
    # Add half a count to each, so that an index seen on one side alone is strong but finite evidence.
    before, after = ((column[:, None] == indices).sum(axis=0) + 0.5 for column in (first, second))
    return dict(zip(indices.tolist(), np.log(after / before).tolist(), strict=True))


def _direction(first: FloatArray, second: FloatArray) -> FloatArray:
    difference = second.mean(axis=0) - first.mean(axis=0)
    spread = (first.var(axis=0) + second.var(axis=0)) / 2
    # A number without noise has no spread. If it differs it decides alone; otherwise it adds 0.
    return np.where(difference == 0, 0.0, difference / (spread + 1e-12 * difference**2 + 1e-300))
