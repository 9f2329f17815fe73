"""Figures of a promise: short, and never below what they stand for."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.figures import SLACK, factor, loss, upwards


@given(st.floats(1e-9, 1e9), st.integers(2, 8))
def test_a_number_in_few_digits_is_not_below_it_and_close(value, digits):
    shown = Fraction(upwards(value, digits))
    assert value <= shown <= Fraction(value) * (1 + Fraction(10) ** (1 - digits))


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [(10.000000000000002, "10"), (3.5496801, "3.54969"), (0.0, "0"), (math.inf, "no finite number")],
)
def test_rounding_in_float64_is_not_told_as_a_loss(epsilon, words):
    assert loss(epsilon) == words


@given(st.floats(0, 300))
def test_a_factor_is_not_below_e_to_the_epsilon(epsilon):
    shown = factor(epsilon).replace(",", "")
    base, _, power = shown.partition("^")
    logarithm = float(power) * math.log(10) if power else math.log(float(base))
    assert logarithm >= epsilon * (1 - SLACK) - 1e-12


@pytest.mark.parametrize(
    ("epsilon", "words"), [(0, "1"), (1, "2.72"), (10, "22,027"), (21.5, "10^10"), (6.9, "993")]
)
def test_a_factor_is_short(epsilon, words):
    assert factor(epsilon) == words
