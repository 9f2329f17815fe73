"""Figures of a promise: taken exactly as written; shown short, and never below what they stand for."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.errors import UsageError
from pcevolve.public.figures import (
    describe_guesses,
    format_factor,
    format_loss,
    format_upwards,
    in_full,
    parse_epsilon,
    parse_noise_multiplier,
)


@given(st.floats(1e-9, 1e9), st.integers(2, 8))
def test_a_number_in_few_digits_is_not_below_it_and_close(value, digits):
    shown = Fraction(format_upwards(value, digits))
    assert value <= shown <= Fraction(value) * (1 + Fraction(10) ** (1 - digits))


@pytest.mark.parametrize(
    ("delta", "shown"), [(1.2345644e-5, "1.2345644e-05"), (1e-5, "1e-05"), (0.0, "0"), (1e-4, "0.0001")]
)
def test_a_delta_is_shown_in_all_its_digits(delta, shown):
    assert in_full(delta) == shown


@pytest.mark.parametrize(
    ("most", "shown"), [(0.00124, "0.0013"), (0.1, "0.1"), (0.1 + 0.2, "0.3"), (0.991, "1"), (1.0, "1")]
)
def test_a_chance_is_not_shown_below_its_bound(most, shown):
    assert describe_guesses({1e-4: most}) == (
        f"guessed with a probability of at most {shown} where it was 1e-4"
    )


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [(10.000000000000002, "10"), (3.5496801, "3.54969"), (0.0, "0"), (math.inf, "no finite number")],
)
def test_rounding_in_float64_is_not_told_as_a_loss(epsilon, words):
    assert format_loss(epsilon) == words


@given(st.floats(0, 300))
def test_a_factor_is_not_below_e_to_the_epsilon(epsilon):
    shown = format_factor(epsilon).replace(",", "")
    base, _, power = shown.partition("^")
    logarithm = float(power) * math.log(10) if power else math.log(float(base))
    assert logarithm >= epsilon * (1 - 1e-12) - 1e-12


# What users write.


@pytest.mark.parametrize("parse", [parse_epsilon, parse_noise_multiplier])
@pytest.mark.parametrize(
    "text", ["0", "-1", "nan", "inf", "", "ten", "1/0", ".", "1e999999999", "٣", "9" * 99]
)
def test_an_impossible_number_is_refused(parse, text):
    with pytest.raises(UsageError, match="must be a finite number above 0"):
        parse(text)


@pytest.mark.parametrize("text", ["1e10", "1e-10", "1/99999999999"])
def test_a_number_beyond_sense_is_refused(text):
    with pytest.raises(UsageError, match="must lie between 1e-9 and 1e9"):
        parse_epsilon(text)


def test_epsilon_is_the_decimal_that_was_written():
    assert parse_epsilon("0.1") == Fraction(1, 10)
    assert parse_epsilon("1/3") == Fraction(1, 3)
    assert parse_epsilon(1e-05) == Fraction(1, 10**5)


@pytest.mark.parametrize(
    ("epsilon", "factor"),
    [(0, "1"), (2, "7.39"), (6.9, "993"), (7, "1,097"), (20, "485,165,196"), (20.1, "10^9")],
)
def test_a_factor_has_three_digits_or_all_before_its_point_or_is_a_power(epsilon, factor):
    assert format_factor(epsilon) == factor
