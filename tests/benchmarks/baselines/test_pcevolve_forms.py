"""Permute-and-flip as the tables' variant of PCEvolve draws it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve_benchmarks.baselines.pcevolve_forms import permute_and_flip
from support.draws import permute_and_flip_probabilities

pytestmark = pytest.mark.statistical

DRAWS, FALSE_ALARM, RATE = 5_000, 1e-6, Fraction(3, 2)
SCORES = np.array([1.0, 0.7, 0.2, 0.0, 0.0])


def p_value(rate: Fraction) -> float:
    """Chi-square of draws at a rate against the exact probabilities at another."""
    drawn = [permute_and_flip(f"{k}", SCORES, rate, SeededNoise(5)) for k in range(DRAWS)]
    expected = DRAWS * permute_and_flip_probabilities(SCORES, float(RATE))
    return float(stats.chisquare(np.bincount(drawn, minlength=len(SCORES)), expected).pvalue)


def test_permute_and_flip_has_the_exact_probabilities_and_30_percent_off_are_noticed():
    assert p_value(RATE) > FALSE_ALARM
    assert p_value(RATE * Fraction(13, 10)) < FALSE_ALARM
    assert p_value(RATE * Fraction(7, 10)) < FALSE_ALARM
