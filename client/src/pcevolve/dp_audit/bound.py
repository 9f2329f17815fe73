"""Lower bounds on ε from counts: what frequencies show about a mechanism, whatever it claims.

Source: Jagielski, Ullman & Oprea 2020 ("Auditing Differentially Private Machine Learning"), section 4, with the
intervals of Clopper & Pearson 1934; for Gaussian noise Nasr et al. 2023 ("Tight Auditing"), section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from pcevolve.dp.accountants import GDP
from pcevolve.privacy import Event

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]


class Inference(Protocol):
    """From counts of an event, which must have been fixed before these runs were made, to a bound on ε.

    ``likely`` and ``rare`` count it in ``runs`` releases each, of the dataset on which it is likelier and of its
    neighbour. A bound is wrong with probability at most 1 - confidence.
    """

    @property
    def name(self) -> str:
        """The assumption that the bound rests on, in a word or two."""
        ...

    def strengths(self, likely: IntArray, rare: IntArray, runs: int) -> FloatArray:
        """Return a strength of each event, at least 0, that grows with the bound on ε which it gives."""
        ...

    def epsilon(self, likely: int, rare: int, runs: int) -> float:
        """The largest ε that the counts of one event rule out."""
        ...


@dataclass(frozen=True)
class AnyMechanism:
    """``ln((p - δ) / q)``, because (ε, δ)-DP says ``p ≤ exp(ε) q + δ``. Takes nothing for granted."""

    delta: float
    confidence: float
    name = "any mechanism"

    def strengths(self, likely: IntArray, rare: IntArray, runs: int) -> FloatArray:
        """The bound on ε that each event shows, float64 ``(events,)``; at least 0."""
        low, high = _limits(likely, rare, runs, self.confidence)
        ratio = np.maximum(low - self.delta, 0.0) / high
        return np.log(np.maximum(ratio, 1.0))

    def epsilon(self, likely: int, rare: int, runs: int) -> float:
        """The largest ε that the counts of one event rule out, for any mechanism."""
        return float(self.strengths(np.array([likely]), np.array([rare]), runs)[0])


@dataclass(frozen=True)
class GaussianMechanism:
    """``μ ≥ Φ⁻¹(p) - Φ⁻¹(q)``, because μ-GDP says so of every event; ε is what this μ costs at δ.

    For methods that claim μ-GDP, as all compositions of Gaussian noise do. It refutes that claim, which is stronger
    than (ε, δ)-DP at one δ, with far fewer runs: nobody need wait for an event as rare as δ.
    """

    delta: float
    confidence: float
    name = "Gaussian mechanism"

    def strengths(self, likely: IntArray, rare: IntArray, runs: int) -> FloatArray:
        """The bound on μ that each event shows, float64 ``(events,)``; at least 0."""
        low, high = _limits(likely, rare, runs, self.confidence)
        return np.asarray(np.maximum(special.ndtri(low) - special.ndtri(high), 0.0), dtype=np.float64)

    def epsilon(self, likely: int, rare: int, runs: int) -> float:
        """The largest ε at δ that the counts of one event rule out, for a mechanism that claims μ-GDP."""
        mu = float(self.strengths(np.array([likely]), np.array([rare]), runs)[0])
        return GDP.epsilon([Event("gaussian", str(1 / Fraction(mu)))], self.delta) if mu > 0 else 0.0


def at_least(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Lower confidence limit of a probability; wrong with probability at most ``alpha``."""
    limits = stats.beta.ppf(alpha, hits, runs - hits + 1)
    return np.asarray(np.where(hits > 0, limits, 0.0), dtype=np.float64)


def at_most(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Upper confidence limit of a probability; wrong with probability at most ``alpha``."""
    limits = stats.beta.ppf(1 - alpha, hits + 1, runs - hits)
    return np.asarray(np.where(hits < runs, limits, 1.0), dtype=np.float64)


def _limits(likely: IntArray, rare: IntArray, runs: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    # Union bound: each limit may be wrong with half of what confidence leaves over, so both hold together with it.
    alpha = (1 - confidence) / 2
    return at_least(likely, runs, alpha), at_most(rare, runs, alpha)
