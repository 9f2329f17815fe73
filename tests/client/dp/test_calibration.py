"""Calibration by public numbers, and a package that needs nothing of ours."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve import dp
from pcevolve.dp.accountants import within
from pcevolve.dp.calibration import (
    bounded_sum_sensitivity,
    classical_deviation,
    histogram_sensitivity,
    largest_bounded_range,
    round_up,
    smallest_noise_multiplier,
)
from pcevolve.privacy import Budget, Event

unhurried = settings(deadline=None)  # other people's work on the same cores is no failure
budgets = st.builds(
    Budget, st.fractions(Fraction(1, 1000), 1000, max_denominator=10**6), st.floats(1e-12, 0.05)
)


@unhurried
@given(budgets, st.integers(1, 200))
def test_the_largest_bounded_range_fits_and_one_a_little_larger_does_not(budget, accesses):
    largest = largest_bounded_range(budget, accesses)
    assert within([Event("exponential", str(largest), accesses)], budget)
    assert not within([Event("exponential", str(largest * Fraction("1.00000001")), accesses)], budget)


@unhurried
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


OURS = {"pcevolve.privacy", "pcevolve.errors"}
"""All that ``dp`` may import of the rest of the client: the vocabulary, and the tree of errors."""


def list_imports(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    modules = {each.module or "" for each in nodes if isinstance(each, ast.ImportFrom)}
    modules |= {name.name for each in nodes if isinstance(each, ast.Import) for name in each.names}
    return {name for name in modules if name.startswith("pcevolve") and not name.startswith("pcevolve.dp")}


def test_dp_imports_nothing_of_ours_but_the_vocabulary_and_the_errors():
    files = sorted(Path(dp.__path__[0]).rglob("*.py"))
    assert len(files) > 4
    assert {path.name: list_imports(path) - OURS for path in files} == {path.name: set() for path in files}
