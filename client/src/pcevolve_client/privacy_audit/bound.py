"""Lower bounds on ε from counts: what frequencies prove about a mechanism, whatever it claims.

Source: Jagielski, Ullman & Oprea 2020 ("Auditing Differentially Private Machine Learning"), section 4; intervals of
Clopper & Pearson 1934.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]


def at_least(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Lower confidence limit of a probability; wrong with probability at most ``alpha``."""
    limits = stats.beta.ppf(alpha, hits, runs - hits + 1)
    return np.asarray(np.where(hits > 0, limits, 0.0), dtype=np.float64)


def at_most(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Upper confidence limit of a probability; wrong with probability at most ``alpha``."""
    limits = stats.beta.ppf(1 - alpha, hits + 1, runs - hits)
    return np.asarray(np.where(hits < runs, limits, 1.0), dtype=np.float64)


def epsilon_bounds(
    likely: IntArray, rare: IntArray, runs: int, delta: float, confidence: float
) -> FloatArray:
    """The largest ε that the counts rule out: ``ln((p - δ) / q)``, each probability at its cautious end.

    (ε, δ)-DP says ``p ≤ exp(ε) q + δ`` for every event that was fixed before these runs were made.

    Args:
        likely: Times that each event happened in ``runs`` releases of the dataset on which it is likelier.
        rare: Times that it happened in ``runs`` releases of the neighbour.
        runs: Releases of each dataset.
        delta: The δ of the claim.
        confidence: Probability that one event's bound is right.

    Returns:
        One bound per event, at least 0.
    """
    # Union bound: the two limits may each be wrong with half of what is left over, so both hold with ``confidence``.
    alpha = (1 - confidence) / 2
    proven = at_least(likely, runs, alpha) - delta
    ratio = np.where(proven > 0, proven / at_most(rare, runs, alpha), 1.0)
    return np.maximum(np.log(ratio), 0.0)


def epsilon_bound(likely: int, rare: int, runs: int, delta: float, confidence: float) -> float:
    """``epsilon_bounds`` of a single event."""
    return float(epsilon_bounds(np.array([likely]), np.array([rare]), runs, delta, confidence)[0])
