"""What the published calibration of SecretNoise does, and the best attack on it; for tests of what is said of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcevolve.dp.mechanisms import FloatArray
from pcevolve_benchmarks.baselines.secret_noise import Sampled


def smallest_of(rates: tuple[float, ...], rounds: int, prior: float, bound: float, near: float) -> float:
    """The least noise for numbers that a record moves by 1: as published, without the joint norm; rounded up.

    Args:
        rates: With which each record of the secret is sampled in a round.
        rounds: How many.
        prior: p.
        bound: r.
        near: What is looked for, within 5 %.
    """
    low, high = 0.95 * near, 1.05 * near
    for _ in range(8):
        middle = (low + high) / 2
        kept = Sampled(rates, rounds, middle).success(prior) <= bound
        low, high = (low, middle) if kept else (middle, high)
    return high


@dataclass(frozen=True)
class Attacked(Sampled):
    """Rounds of noisy numbers, and who tries to tell from them whether a secret's records are there."""

    def numbers(self, draws: int, random: np.random.Generator, has_secret: bool) -> FloatArray:
        """Noisy numbers of all rounds, float64 ``(draws, rounds)``."""
        noise = random.normal(0, self.sigma, (draws, self.rounds))
        for rate in self.rates if has_secret else ():
            noise += random.random(noise.shape) < rate
        return noise

    def threshold(self, prior: float) -> float:
        """The sum of losses that is exceeded with this probability without the secret."""
        values, mass, _ = self.losses
        false = np.cumsum((mass * np.exp(-values.clip(-600, 600)))[::-1])[::-1]
        return float(values[np.flatnonzero(false <= prior)[0]])
