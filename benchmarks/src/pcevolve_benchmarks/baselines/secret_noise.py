"""SecretNoise of SecPE: which records are sampled how often in a round, and noise under which listed secrets are kept.

Without a secret its records are left out, with it each is sampled with a probability of its own. Whoever guesses a
secret with probability p beforehand, by whatever prior, guesses it with at most B(p): the blow-up function is concave,
and what is released without the records does not depend on the secret's value. B is computed from a distribution of
the privacy loss whose values are rounded up, and what lies beyond its grid counts as lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.special import logsumexp, ndtr

from pcevolve.public.dp.attacks import secret_budget
from pcevolve.public.dp.mechanisms import FloatArray

JOINT_NORM = math.sqrt(2)
"""How far one record more moves a count, by 1, and a sum of vectors of norm 1 at most, together.

SecretNoise is published with 1, under which guesses at a secret are right more often than is promised.
"""
STEP = 1e-3
"""Of a loss, in nats, to multiples of which it is rounded up."""
PIECES = 10_000
"""Into which the line is cut."""
WIDTH = 12.0
"""Standard deviations beyond which everything counts as lost."""
DIGITS = 1e-3
"""Share of the least noise by which more of it may be taken."""
MOST_LOSS = 64.0
"""Nats of one round: a larger loss counts as lost, and one below its negative is rounded up to that."""
_FAR = 600.0
"""A loss beyond which its exponential is as good as infinite, in nats."""
_TRANSFORM = 1e-12
"""More than what a Fourier transform loses of a probability."""


@dataclass(frozen=True)
class Sampled:
    """One secret's records in rounds of noisy numbers that each of them moves by at most 1, if it is sampled.

    With the secret a round's number is N(how many of them are sampled, sigma²), without it N(0, sigma²). Vectors of
    norm 1 in whatever directions tell less (Choquette-Choo et al. 2024, mixtures of Gaussians).

    Attributes:
        rates: Probabilities with which each is sampled in a round.
        rounds: How many.
        sigma: Standard deviation of the noise.
    """

    rates: tuple[float, ...]
    rounds: int
    sigma: float

    @cached_property
    def sampled(self) -> FloatArray:
        """Probabilities that 0, 1, ... of them are sampled in a round, float64 ``(records + 1,)``."""
        found = np.ones(1)
        for rate in self.rates:
            found = np.convolve(found, [1 - rate, rate])
        return found

    def loss(self, numbers: FloatArray) -> FloatArray:
        """Log-likelihood ratio of one round's number; it grows with the number."""
        count = np.arange(len(self.sampled))
        terms = (2 * np.multiply.outer(numbers, count) - count**2) / (2 * self.sigma**2)
        with np.errstate(divide="ignore"):  # a number that is never sampled has no part in the sum
            return np.asarray(logsumexp(terms + np.log(self.sampled), axis=-1))

    @cached_property
    def losses(self) -> tuple[FloatArray, FloatArray, float]:
        """Losses of all rounds with the secret, never rounded down: values, probabilities, and that of no bound."""
        edges = np.linspace(-WIDTH * self.sigma, len(self.rates) + WIDTH * self.sigma, PIECES + 1)
        below = ndtr(np.subtract.outer(edges, np.arange(len(self.sampled))) / self.sigma)
        upper = self.loss(edges[1:])
        bounded = upper <= MOST_LOSS
        mass = np.diff(below @ self.sampled)[bounded]
        places = np.ceil(upper[bounded].clip(-MOST_LOSS) / STEP).astype(np.int64)
        lowest = int(places[0])
        one = np.bincount(places - lowest, mass)
        size = 1 << math.ceil(math.log2(self.rounds * len(one)))
        several = np.fft.irfft(np.fft.rfft(one, size) ** self.rounds, size).clip(0)
        lost = max(0.0, 1 - float(mass.sum()) ** self.rounds) + _TRANSFORM
        values = (np.arange(size, dtype=np.float64) + self.rounds * lowest) * STEP
        return values, np.asarray(several, dtype=np.float64), lost

    def success(self, prior: float) -> float:
        """B: the most probability with which the secret is guessed, by its prior; not below the truth.

        ``inf [α p + H_α]`` over α, H_α being the hockey-stick divergence.

        Args:
            prior: p, in (0, 1).
        """
        values, mass, lost = self.losses
        ratio = np.exp(values.clip(-_FAR, _FAR))
        # For each loss that is a threshold: everything above it is won, and costs prior times its ratio.
        won = np.cumsum(mass[::-1])[::-1]
        shrunk = np.cumsum((mass / ratio)[::-1])[::-1]
        return float(min(1.0, (ratio * prior + won - ratio * shrunk).min() + lost))


@dataclass(frozen=True)
class Exposed:
    """One secret, as far as its noise depends on it.

    Attributes:
        rates: With which each of its records is sampled in a round, the largest first.
        prior: p, in (0, 1).
        bound: r, in (p, 1).
    """

    rates: tuple[float, ...]
    prior: float
    bound: float

    @property
    def floor(self) -> float:
        """Noise under which a record that is sampled for certain, in one round, keeps the promise by that round.

        Without it no noise at all would do for whoever is hardly ever sampled, and give away whoever is.
        """
        return JOINT_NORM / min(1.0, secret_budget(self.prior, self.bound))

    def keeps(self, rounds: int, sigma: float) -> bool:
        """True if noise of this standard deviation keeps the promise, of numbers that a record moves by JOINT_NORM."""
        return self.success(rounds, sigma, self.prior) <= self.bound

    def success(self, rounds: int, sigma: float, prior: float) -> float:
        """The most probability with which it is guessed, by a prior."""
        return Sampled(self.rates, rounds, sigma / JOINT_NORM).success(prior)

    def covers(self, other: Exposed) -> bool:
        """True if noise that is enough for this secret is for another, which has no larger rate at any place."""
        alike = (self.prior, self.bound) == (other.prior, other.bound) and len(self.rates) >= len(other.rates)
        return alike and all(mine >= theirs for mine, theirs in zip(self.rates, other.rates, strict=False))


def smallest_sigma(secrets: Iterable[Exposed], rounds: int) -> float:
    """The least standard deviation that keeps the promise of every secret, by bisection, rounded up.

    Args:
        secrets: All of them; those of which no record is ever sampled need none.
        rounds: Releases, in each of which records are sampled anew.
    """
    found, covering = JOINT_NORM, list[Exposed]()
    for each in sorted({each for each in secrets if any(each.rates)}, key=lambda each: -sum(each.rates)):
        if not any(known.covers(each) for known in covering):
            covering.append(each)
            found = _enough(each, rounds, max(found, each.floor))
    return found


def _enough(secret: Exposed, rounds: int, least: float) -> float:
    """The least noise that is enough for a secret and not below ``least``."""
    low = high = least
    while not secret.keeps(rounds, high):
        low, high = high, 2 * high
    while high - low > DIGITS * high:
        middle = (low + high) / 2
        low, high = (low, middle) if secret.keeps(rounds, middle) else (middle, high)
    return high


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
