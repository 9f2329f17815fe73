"""What goes on record has no digit to spare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.geometry.frame import (
    STEP,
    Frame,
    idle_step,
    is_rounded_to,
    power_below,
    round_to,
    round_to_noise_scale,
)

POSITIVE = st.floats(1e-12, 1e12)
NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20).map(np.array)


@given(POSITIVE)
def test_a_step_is_a_power_of_two_at_most_twice_too_small(value: float):
    step = power_below(value)
    assert step <= value < 2 * step
    assert np.frexp(step)[0] == 0.5


@given(NUMBERS, st.floats(1e-6, 1e6))
def test_what_was_rounded_is_coarse_and_nearly_what_it_was(numbers, deviation: float):
    rounded = round_to_noise_scale(numbers, deviation)
    assert is_rounded_to(rounded, idle_step(deviation))
    assert np.abs(rounded - numbers).max() <= deviation / 1000


@given(NUMBERS, st.integers(1, 2**20))
def test_a_digit_more_is_seen(numbers, places: int):
    step = 2.0**-8
    hidden = round_to(numbers, step)
    hidden[0] += step * (places / 2**21)
    assert not is_rounded_to(hidden, step)


def test_a_negative_zero_is_seen():
    assert is_rounded_to(np.array([0.0]), 0.5)
    assert not is_rounded_to(np.array([-0.0]), 0.5)


def candidates() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(300, 64)) * np.linspace(8.0, 0.5, 64)


def test_another_machine_has_the_same_frame():
    made = Frame.of(candidates())
    other = Frame.of(candidates() * (1 + 1e-6 * np.random.default_rng(1).normal(size=(300, 64))))
    assert made.rounding_bits(other.centre, other.axes) is not None
    assert made.rounding_bits(made.centre, made.axes) == 0


@pytest.mark.parametrize("part", ["centre", "axes"])
def test_a_frame_with_a_digit_more_or_two_steps_off_is_seen(part: str):
    made = Frame.of(candidates())
    for gap in (STEP / 1000, 3 * STEP * (power_below(made.radius) if part == "centre" else 1)):
        forged = {"centre": made.centre.copy(), "axes": made.axes.copy()}
        forged[part].flat[5] += gap
        assert made.rounding_bits(**forged) is None
