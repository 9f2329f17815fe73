"""Exact probabilities of the selection mechanisms, written down a second time, and noise that is wrong on purpose."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pcevolve.public.dp.mechanisms import FloatArray, Noise, Source


def exponential_probabilities(scores: FloatArray, rate: float) -> FloatArray:
    """McSherry & Talwar 2007: proportional to ``exp(rate · score)``."""
    weights = np.exp(rate * (scores - scores.max()))
    return np.asarray(weights / weights.sum())


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


@dataclass(frozen=True)
class Misscaled:
    """Noise whose scale is wrong by ``factor``."""

    honest: Noise
    factor: Fraction

    @property
    def source(self) -> Source:
        return self.honest.source

    def exponential(self, key: str, scores: FloatArray, rate: Fraction) -> int:
        return self.honest.exponential(key, scores, rate / self.factor)

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        return self.honest.gaussian(key, values, sigma * float(self.factor))

    def uniform(self, key: str, count: int) -> int:
        """Draws the indices that are allowed too seldom."""
        return self.honest.uniform(key, max(1, int(count * min(self.factor, 1 / self.factor))))
