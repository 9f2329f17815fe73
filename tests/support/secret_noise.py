"""SecretNoise as it was published (arXiv 2510.10990): weights, sampling and noise; for tests of what is said about it.

The client releases once and samples nothing (docs/decisions/0042), so none of this ships.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linprog
from scipy.special import logsumexp, ndtr
from scipy.stats import binom

FloatArray = np.ndarray
Groups = Sequence[Sequence[int]]
"""Of each secret, the records that hold it."""

STEP = 1e-3
"""Of a loss, to multiples of which it is rounded up."""
CELLS = 10_000
"""Into which the line is cut."""
WIDTH = 12.0
"""Standard deviations beyond which everything is taken for lost."""


def fair_weights(groups: Groups, budgets: Sequence[float], most: float) -> FloatArray:
    """Max-min fair weights: all are raised alike; whoever holds a secret that is used up stays where he is.

    Args:
        groups: Who holds which secret; every record holds one.
        budgets: η of each secret, which the weights of its records add up to at most.
        most: Of one weight.
    """
    weights = np.zeros(1 + max(record for group in groups for record in group))
    free = np.ones(len(weights), dtype=bool)
    while free.any():
        rooms = [
            (budget - weights[list(group)].sum()) / free[list(group)].sum()
            for group, budget in zip(groups, budgets, strict=True)
            if free[list(group)].any()
        ]
        raised = min(*rooms, most - weights[free].max(), most)
        weights[free] += raised
        for group, budget in zip(groups, budgets, strict=True):
            if weights[list(group)].sum() >= budget - 1e-12:
                free[list(group)] = False
        free &= weights < most - 1e-12
    return weights


def largest_weights(groups: Groups, budgets: Sequence[float], most: float) -> FloatArray:
    """Weights of the largest sum, by linear programming: as published."""
    count = 1 + max(record for group in groups for record in group)
    holds = [[float(record in group) for record in range(count)] for group in groups]
    return linprog(-np.ones(count), A_ub=holds, b_ub=budgets, bounds=(0, most)).x


def rates(weights: FloatArray) -> FloatArray:
    """ρ: with what probability each record is sampled, as published."""
    return weights / (weights.max() * weights.sum())


@dataclass(frozen=True)
class Sampled:
    """What a secret's records do to rounds of noisy counts, each of them sampled with the same probability.

    With the secret a count is ``N(Binomial(records, rate), sigma²)``, without it ``N(0, sigma²)``.
    """

    records: int
    rate: float
    rounds: int
    sigma: float

    def loss(self, counts: FloatArray) -> FloatArray:
        """Log-likelihood ratio of one count; it grows with the count."""
        sampled = np.arange(self.records + 1)
        terms = (2 * np.multiply.outer(counts, sampled) - sampled**2) / (2 * self.sigma**2)
        return logsumexp(terms + binom.logpmf(sampled, self.records, self.rate), axis=-1)

    def counts(self, draws: int, random: np.random.Generator, has_secret: bool) -> FloatArray:
        """Noisy counts of all rounds, float64 ``(draws, rounds)``."""
        noise = random.normal(0, self.sigma, (draws, self.rounds))
        return noise + random.binomial(self.records, self.rate, noise.shape) if has_secret else noise

    @cached_property
    def losses(self) -> tuple[FloatArray, FloatArray, float]:
        """Losses of all rounds with the secret, never rounded down: values, probabilities, and that of no bound."""
        edges = np.linspace(-WIDTH * self.sigma, self.records + WIDTH * self.sigma, CELLS + 1)
        sampled = np.arange(self.records + 1)
        below = ndtr(np.subtract.outer(edges, sampled) / self.sigma)
        mass = np.diff(below @ binom.pmf(sampled, self.records, self.rate))
        places = np.ceil(self.loss(edges[1:]) / STEP).astype(int)
        lowest = int(places[0])
        one = np.bincount(places - lowest, mass)
        size = 1 << int(np.ceil(np.log2(self.rounds * len(one))))
        several = np.fft.irfft(np.fft.rfft(one, size) ** self.rounds, size).clip(0)
        return (
            (np.arange(size) + self.rounds * lowest) * STEP,
            several,
            max(0.0, 1 - mass.sum() ** self.rounds),
        )

    def success(self, prior: float) -> float:
        """Blow-up of the prior: ``inf [α p + H_α]`` over α, H_α the hockey-stick divergence; not below the truth."""
        values, mass, lost = self.losses
        # For each loss that is a threshold: everything above it is won, and costs prior times its ratio.
        won = np.cumsum(mass[::-1])[::-1]
        shrunk = np.cumsum((mass * np.exp(-values.clip(-600, 600)))[::-1])[::-1]
        ratio = np.exp(values.clip(-600, 600))
        return float(min(1.0, (ratio * prior + won - ratio * shrunk).min() + lost))

    def threshold(self, prior: float) -> float:
        """The sum of losses that is exceeded with this probability without the secret."""
        values, mass, _ = self.losses
        false = np.cumsum((mass * np.exp(-values.clip(-600, 600)))[::-1])[::-1]
        return float(values[np.flatnonzero(false <= prior)[0]])


def smallest_sigma(records: int, rate: float, rounds: int, prior: float, bound: float, near: float) -> float:
    """The least noise under which a guess at a secret is right with at most ``bound``, by bisection, rounded up.

    Args:
        records: That hold the secret.
        rate: With which each is sampled in a round.
        rounds: How many.
        prior: p.
        bound: r.
        near: What is looked for, within 5 %.
    """
    low, high = 0.95 * near, 1.05 * near
    for _ in range(8):
        middle = (low + high) / 2
        kept = Sampled(records, rate, rounds, middle).success(prior) <= bound
        low, high = (low, middle) if kept else (middle, high)
    return high
