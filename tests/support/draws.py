"""Exact probabilities of the selection mechanisms, written down a second time."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def exponential_probabilities(scores: FloatArray, rate: float) -> FloatArray:
    """McSherry & Talwar 2007: proportional to ``exp(rate · score)``."""
    weights = np.exp(rate * (scores - scores.max()))
    return weights / weights.sum()


def permute_and_flip_probabilities(scores: FloatArray, rate: float) -> FloatArray:
    """McKenna & Sheldon 2020, Algorithm 1, by enumeration of all orders; for a handful of scores.

    A best candidate is always taken when its turn comes, so one pass over the order decides.
    """
    taken = np.exp(rate * (scores - scores.max()))
    probabilities = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1 / len(orders)
        for index in order:
            probabilities[index] += left * taken[index]
            left *= 1 - taken[index]
    return probabilities
