"""The draws have the distributions that they are charged for, and these tests would notice if they had not.

Every check raises a false alarm once in a million runs, and each is also run on noise that is 30 % off, which it must
reject.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pcevolve.public.dp.mechanisms import FloatArray, Noise, SecureNoise, SeededNoise
from support.draws import Misscaled, exponential_probabilities

pytestmark = pytest.mark.statistical

FALSE_ALARM = 1e-6
DRAWS = 20_000
CHOICES_DRAWN = 5_000  # 30 % off has a noncentrality of 300 in them, and the threshold is at 33: never missed
SCORES = np.array([2.0, 1.2, 0.6, 0.0, 0.0])
RATE = Fraction(3, 2)
VALUES, SIGMA = np.linspace(-50.0, 50.0, DRAWS), 1.7

NOISES = [pytest.param(SecureNoise(), id="secure"), pytest.param(SeededNoise(5), id="seeded")]
FACTORS = [
    pytest.param(Fraction(13, 10), id="30% too much"),
    pytest.param(Fraction(7, 10), id="30% too little"),
]


def p_value_of_choices(noise: Noise) -> float:
    """Chi-square against the exact probabilities."""
    drawn = [noise.exponential(f"{k}", SCORES, RATE) for k in range(CHOICES_DRAWN)]
    expected = CHOICES_DRAWN * exponential_probabilities(SCORES, float(RATE))
    return float(stats.chisquare(np.bincount(drawn, minlength=len(SCORES)), expected).pvalue)


def p_value_of_uniform(noise: Noise) -> float:
    counts = np.bincount([noise.uniform(f"{k}", 10) for k in range(DRAWS)], minlength=10)
    return float(stats.chisquare(counts).pvalue)


def residuals(noise: Noise) -> FloatArray:
    return noise.gaussian("q", VALUES, SIGMA) - VALUES


def p_value_of_gaussian(noise: Noise) -> float:
    """Kolmogorov-Smirnov against N(0, σ²)."""
    return float(stats.kstest(residuals(noise), stats.norm(0.0, SIGMA).cdf).pvalue)


@pytest.mark.parametrize("noise", NOISES)
def test_choices_have_the_exact_probabilities(noise):
    assert p_value_of_choices(noise) > FALSE_ALARM


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("noise", NOISES)
def test_choices_that_are_30_percent_off_are_noticed(noise, factor):
    assert p_value_of_choices(Misscaled(noise, factor)) < FALSE_ALARM


@pytest.mark.parametrize("noise", NOISES)
def test_gaussian_noise_is_normal_with_the_deviation_asked_for(noise):
    assert p_value_of_gaussian(noise) > FALSE_ALARM


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("noise", NOISES)
def test_gaussian_noise_that_is_30_percent_off_is_noticed(noise, factor):
    assert p_value_of_gaussian(Misscaled(noise, factor)) < FALSE_ALARM


@pytest.mark.parametrize("noise", NOISES)
def test_gaussian_noise_of_neighbouring_entries_is_not_correlated(noise):
    sample = residuals(noise)
    assert stats.pearsonr(sample[:-1], sample[1:]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("noise", NOISES)
def test_a_uniform_draw_prefers_nothing(noise):
    assert p_value_of_uniform(noise) > FALSE_ALARM


@pytest.mark.parametrize("factor", FACTORS)
def test_a_uniform_draw_that_misses_some_is_noticed(factor):
    assert p_value_of_uniform(Misscaled(SeededNoise(5), factor)) < FALSE_ALARM
