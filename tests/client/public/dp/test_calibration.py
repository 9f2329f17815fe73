"""Calibration by public numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.dp.accountants import within
from pcevolve.public.dp.calibration import (
    bounded_sum_sensitivity,
    classical_deviation,
    deviation_sum_sensitivity,
    draw_rate,
    histogram_sensitivity,
    largest_bounded_range,
    round_up,
    scale_to_folder,
    smallest_noise_multiplier,
)
from pcevolve.public.privacy import Budget, Event

budgets = st.builds(
    Budget, st.fractions(Fraction(1, 1000), 1000, max_denominator=10**6), st.floats(1e-12, 0.05)
)


@given(budgets, st.integers(1, 200))
def test_the_largest_bounded_range_fits_and_one_a_little_larger_does_not(budget, accesses):
    largest = largest_bounded_range(budget, accesses)
    assert within([Event("exponential", str(largest), accesses)], budget)
    assert not within([Event("exponential", str(largest * Fraction("1.00000001")), accesses)], budget)


@given(budgets, st.integers(1, 200))
def test_the_smallest_noise_multiplier_fits_and_one_a_little_smaller_does_not(budget, accesses):
    smallest = smallest_noise_multiplier(budget, accesses)
    assert within([Event("gaussian", str(smallest), accesses)], budget)
    assert not within([Event("gaussian", str(smallest / Fraction("1.00000001")), accesses)], budget)


@pytest.mark.parametrize("calibrate", [smallest_noise_multiplier, classical_deviation])
def test_gaussian_noise_without_delta_is_refused(calibrate):
    with pytest.raises(ValueError, match="no finite epsilon at delta 0"):
        calibrate(Budget(Fraction(10)), 1)


@given(st.floats(1e-6, 1e6))
def test_a_raised_multiplier_is_not_below_what_it_stands_for(value):
    assert value <= round_up(value) <= value * (1 + 1e-8)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_unit_moves_a_histogram_by_its_sensitivity(relation):
    before, after = (np.eye(3)[0], np.eye(3)[1]) if relation == "replace-one" else (np.zeros(3), np.eye(3)[1])
    assert np.linalg.norm(after - before) == pytest.approx(histogram_sensitivity(relation))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_unit_moves_a_sum_in_a_ball_by_its_sensitivity(relation):
    end = np.array([0.6, 0.8])
    before = -end if relation == "replace-one" else np.zeros(2)
    assert np.linalg.norm(end - before) == pytest.approx(bounded_sum_sensitivity(relation))


def test_a_unit_moves_deviations_by_half_a_radius_and_a_replaced_one_by_a_whole():
    assert [deviation_sum_sensitivity(each) for each in ("add-remove", "replace-one")] == [0.5, 1.0]


def test_a_vote_that_may_move_is_drawn_at_half_the_rate_of_one_that_may_only_go():
    event = Event("exponential", "3")
    assert [draw_rate(event, each) for each in ("add-remove", "replace-one")] == [3, Fraction(3, 2)]


def test_a_unit_of_the_folder_bears_twice_what_is_drawn_of_it():
    events = (Event("exponential", "1/2", 4), Event("gaussian", "6"))
    assert scale_to_folder(events, subsampled=True) == (Event("exponential", "1", 4), Event("gaussian", "3"))
    assert scale_to_folder(events, subsampled=False) == events


def test_a_calibrated_parameter_is_the_same_on_every_machine_and_can_be_read():
    budget = Budget(Fraction(1), 1e-5)
    assert smallest_noise_multiplier(budget, 1) == Fraction("3.7306316357")
    assert largest_bounded_range(budget, 100) == Fraction("0.049697098583")
