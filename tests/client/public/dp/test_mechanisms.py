"""Costs and refusals of the draws; their distributions are tested in ``test_mechanisms_statistics``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pcevolve.public.dp import mechanisms
from pcevolve.public.dp.mechanisms import (
    FloatArray,
    Noise,
    SecureNoise,
    SeededNoise,
    clamp,
    exponential_measurement,
    gaussian_measurement,
    noise_scale,
)
from support.draws import exponential_probabilities, permute_and_flip_probabilities

SCORES = np.array([1.0, 0.6, 0.3, 0.0])
RATE = Fraction(3, 2)
NOISES = [pytest.param(SecureNoise(), id="secure"), pytest.param(SeededNoise(5), id="seeded")]
RATES = ["1/7", "1/4", "1", "10"]
NOT_FINITE = [math.nan, math.inf, -math.inf]


# The costs, as OpenDP computes them.


@pytest.mark.parametrize("rate", RATES)
def test_opendp_agrees_that_an_exponential_draw_is_eta_squared_over_8_zcdp(rate):
    eta = 2 * float(Fraction(rate))
    assert exponential_measurement(Fraction(rate)).map(1.0) == pytest.approx(eta**2 / 8, rel=1e-12)


@pytest.mark.parametrize(("sigma", "sensitivity"), [(1.0, 1.0), (2.0, math.sqrt(2)), (0.3, 10.0)])
def test_opendp_agrees_that_gaussian_noise_is_one_over_two_z_squared_zcdp(sigma, sensitivity):
    z = sigma / sensitivity
    assert gaussian_measurement(sigma).map(sensitivity) == pytest.approx(1 / (2 * z**2), rel=1e-12)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9).filter(bool))
def test_rounding_the_scale_never_costs_privacy(rate):
    scale = noise_scale(rate)
    assert (
        Fraction(math.nextafter(scale, 0)) < 1 / rate <= Fraction(scale)
    )  # the smallest float that is not below


# The costs, by enumeration: every score vector on a small grid and every neighbour of it.

GRID = [np.array(scores) for scores in itertools.product((0.0, 0.5, 1.0, 2.0), repeat=3)]
EITHER_WAY, ONE_WAY = (-1.0, 0.0, 1.0), (0.0, 1.0)


def neighbours(steps: Iterable[float], sensitivity: float = 1.0) -> Iterable[tuple[FloatArray, FloatArray]]:
    changes = [sensitivity * np.array(change) for change in itertools.product(steps, repeat=3)]
    return ((scores, scores + change) for scores in GRID for change in changes)


def log_ratios(
    probabilities: Callable[[FloatArray, float], FloatArray], pairs: Iterable[tuple[FloatArray, FloatArray]]
) -> FloatArray:
    """Log-ratios of all outcomes, ``(pairs, outcomes)``."""
    rate = float(RATE)
    return np.array([np.log(probabilities(b, rate) / probabilities(a, rate)) for a, b in pairs])


def loss(ratios: FloatArray) -> float:
    return float(np.abs(ratios).max())


def find_range(ratios: FloatArray) -> float:
    return float(np.ptp(ratios, axis=1).max())


@pytest.mark.parametrize(("steps", "eta"), [(EITHER_WAY, 2 * RATE), (ONE_WAY, RATE)], ids=["any", "monotone"])
def test_the_exponential_mechanism_has_the_bounded_range_that_it_claims(steps, eta):
    ratios = log_ratios(exponential_probabilities, neighbours(steps))
    assert find_range(ratios) == pytest.approx(float(eta))
    assert loss(ratios) <= float(eta)


def test_permute_and_flip_must_not_be_charged_as_bounded_range():
    ratios = log_ratios(permute_and_flip_probabilities, neighbours(EITHER_WAY))
    assert find_range(ratios) > 1.1 * float(2 * RATE)


def test_the_enumeration_notices_a_sensitivity_understated_by_30_percent():
    understated = neighbours(EITHER_WAY, sensitivity=1 / 0.7)
    assert find_range(log_ratios(exponential_probabilities, understated)) > 1.3 * float(2 * RATE)


# What is refused, and what is not.


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("value", NOT_FINITE)
def test_no_draw_accepts_a_value_that_is_not_finite(noise: Noise, value: float):
    values = np.array([0.5, value])
    for draw in (
        lambda: noise.exponential("q", values, RATE),
        lambda: noise.gaussian("q", values, 1.0),
    ):
        with pytest.raises(ValueError, match=r"^not all values are finite: clamp them before the draw$"):
            draw()


@pytest.mark.parametrize("noise", NOISES)
def test_a_draw_without_a_positive_rate_or_deviation_is_refused(noise: Noise):
    for rate in (Fraction(0), Fraction(-1, 4)):
        with pytest.raises(ValueError, match="rate of a draw must be above 0"):
            noise.exponential("q", SCORES, rate)
    for sigma in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="standard deviation must be a finite number above 0"):
            noise.gaussian("q", SCORES, sigma)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "scores", [np.zeros(0), np.zeros((2, 2)), np.float64(1.0)], ids=["0", "2x2", "scalar"]
)
def test_a_draw_needs_a_vector_with_an_entry(noise: Noise, scores: FloatArray):
    with pytest.raises(ValueError, match="must be a vector with at least one entry"):
        noise.exponential("q", scores, RATE)


@given(hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_any_scores_are_forced_into_the_interval_and_can_then_be_drawn_from(scores):
    bounded = clamp(scores, -1.0, 2.0)
    assert np.all((bounded >= -1) & (bounded <= 2))
    assert np.all(bounded[np.isnan(scores)] == -1)
    inside = (scores >= -1) & (scores <= 2)
    assert np.array_equal(bounded[inside], scores[inside])
    assert 0 <= SecureNoise().exponential("q", bounded, RATE) < len(scores)


# Where the randomness comes from.


def transcript(noise: Noise, key: str) -> tuple[object, ...]:
    """Many draws of every kind under keys that start with ``key``."""
    many = np.zeros(1000)
    return (
        noise.exponential(key, many, RATE),
        noise.uniform(key, 1000),
        tuple(noise.gaussian(key, many, 1.0)),
    )


@pytest.mark.parametrize(("seed", "key"), [(1, "b"), (2, "a")], ids=["another key", "another seed"])
def test_seeded_noise_differs_by_seed_and_by_key(seed, key):
    pairs = zip(transcript(SeededNoise(1), "a"), transcript(SeededNoise(seed), key), strict=True)
    assert all(first != second for first, second in pairs)


def test_scores_are_forced_between_0_and_1_if_nothing_else_is_said():
    scores = np.array([math.nan, -math.inf, math.inf, 0.5, -1.0, 2.0])
    assert clamp(scores).tolist() == [0, 0, 1, 0.5, 0, 1]
    assert clamp(scores, -1, 3).tolist() == [-1, -1, 3, 0.5, -1, 2]


def test_a_machine_without_opendp_finds_out_before_anything_is_paid_for(monkeypatch):
    def fail():
        raise ImportError("no OpenDP")

    monkeypatch.setattr(mechanisms, "_vectors", fail)
    with pytest.raises(ImportError, match="no OpenDP"):
        SecureNoise()
