"""What each record that holds secrets may count, so that no secret gets more than its budget (SecPE, SecretNoise)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from pcevolve.dp.mechanisms import FloatArray

Groups: TypeAlias = Sequence[Sequence[int]]
"""Of each secret, the records that hold it, each named once."""

MOST = 1.0
"""Of one weight: with it alone a record is 1-GDP."""
_ROOM = 1e-12
"""Of a budget, less than which counts as nothing."""


def fair_weights(groups: Groups, budgets: Sequence[float], most: float = MOST) -> FloatArray:
    """Max-min fair weights: all are raised alike, and whoever holds a secret that is used up stays where he is.

    A linear programme for the largest sum would leave out altogether whoever is at a corner of it. A weight depends on
    how many others hold the same secrets, so it is no bound on what one record more or less changes.

    Args:
        groups: Who holds which secret.
        budgets: η of each secret, >= 0, which the weights of its records add up to at most.
        most: Of one weight.

    Returns:
        float64 ``(records,)``: up to the last one that holds a secret; ``most`` for those that hold none.

    Source: SecPE (arXiv 2510.10990), SecretNoise, with max-min fairness in place of its linear programme.
    """
    records, secrets = _pairs(groups)
    limits = np.asarray(budgets, dtype=np.float64)
    weights = np.zeros(1 + int(records.max(initial=-1)))
    free = np.ones(len(weights), dtype=bool)
    while free.any():
        room = limits - np.bincount(secrets, weights[records], minlength=len(limits))
        sharing = np.bincount(secrets, free[records], minlength=len(limits))
        asked = sharing > 0
        raised = min((room[asked] / sharing[asked]).min(initial=most), most - weights[free].max())
        weights[free] += max(float(raised), 0.0)
        used_up = room - max(float(raised), 0.0) * sharing <= _ROOM
        free[records[used_up[secrets]]] = False
        free &= weights < most - _ROOM
    return weights


def rates(weights: FloatArray) -> FloatArray:
    """ρ: with what probability each record is sampled in a round, as published but for a limit of 1.

    It depends on the unit in which weights are told; here they are told in units of η.

    Args:
        weights: float64 ``(records,)``, >= 0.
    """
    if not weights.max(initial=0.0) > 0:
        return np.zeros_like(weights)
    return np.asarray(np.minimum(weights / (weights.max() * weights.sum()), 1.0), dtype=np.float64)


def _pairs(groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Who holds which secret, as two int64 arrays of the same length: records and secrets."""
    sizes = [len(group) for group in groups]
    records = np.array([record for group in groups for record in group], dtype=np.int64)
    return records, np.repeat(np.arange(len(groups)), sizes)
