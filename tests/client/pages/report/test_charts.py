"""Charts: axes start at zero, end above the data, and label themselves with round numbers."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pcevolve.pages.report.charts import HEIGHT, WIDTH, Chart, Series, percent, size, ticks
from pcevolve.pages.report.sheets import evenly


@pytest.mark.parametrize(
    ("top", "expected"),
    [(10, [0, 2.5, 5, 7.5, 10]), (1, [0, 0.25, 0.5, 0.75, 1]), (3.2e6, [0, 1e6, 2e6, 3e6, 4e6]), (0, [0, 1])],
)
def test_ticks_are_round_and_reach_the_top(top, expected):
    assert ticks(top, 4) == pytest.approx(expected)


@given(st.floats(1e-6, 1e12), st.integers(2, 8))
def test_there_are_few_ticks_for_any_scale(top, wanted):
    found = ticks(top, wanted)
    assert found[0] == 0
    assert found[-1] >= top * (1 - 1e-6)
    assert len(found) <= wanted + 2


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=30))
@example([5e-324])
@example([2.3e-308])
@example([9e-308])
def test_every_point_lies_on_the_paper(values):
    line = Series("line", tuple(enumerate(values)))
    chart = Chart("title", "summary", [line], max(values), str)
    for mark in chart.marks(line):
        assert 0 <= mark.x <= WIDTH
        assert 0 <= mark.y <= HEIGHT


def test_error_bars_reach_as_far_as_the_standard_error():
    line = Series("line", ((0, 0.5),), (0.25,))
    chart = Chart("title", "summary", [line], 1.0, percent)
    (mark,) = chart.marks(line)
    assert (mark.low, mark.high) == (chart.y(0.25), chart.y(0.75))
    assert mark.text == "line, iteration 0: 50% ± 25%"


@given(st.integers(1, 1000), st.integers(2, 10))
def test_an_even_choice_has_both_ends_and_no_repeats(count, wanted):
    chosen = evenly(count, wanted)
    assert (chosen[0], chosen[-1]) == (0, count - 1)
    assert len(set(chosen)) == len(chosen) == min(count, wanted)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (3.19e6, "3.19 MB")]
)
def test_sizes_are_written_for_people(count, text):
    assert size(count) == text
