"""Charts of a report: what they show and what they leave out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.pages.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    AccuracyPoint,
    Protection,
    sum_spent,
)
from pcevolve.public.parts import Secrecy
from pcevolve.public.privacy import Event
from support.viewer import POINTS, page


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in path.split())]


@given(st.floats(-6, -0.5), st.floats(0.05, 1))
def test_the_curve(power: float, share: float):
    prior = 10.0**power
    drawn = Protection.of(Secrecy(prior=prior, bound=prior ** (1 - 0.9 * share), most=3))
    after, guess = points(drawn.after), points(drawn.guess)
    assert [x for x, _ in after] == [x for x, _ in guess]
    assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in after)
    assert all(round(place, 1) == place for point in after for place in point), "a tenth is what can be seen"
    assert all(one[1] <= other[1] + 0.2 for one, other in zip(after, guess, strict=True))
    assert all(second[1] <= first[1] for first, second in pairwise(after))
    near = min(after, key=lambda point: abs(point[0] - drawn.mark[0]))
    assert near[1] == pytest.approx(drawn.mark[1], abs=8)


Make = Callable[..., Path]


def test_what_a_dataset_cost_that_was_selected_is_part_of_what_was_spent_in_the_end():
    receipts = [SimpleNamespace(iteration=t, events=(Event("exponential", "1", 1),)) for t in (1, 2, 3)]
    plan = SimpleNamespace(
        method=SimpleNamespace(iterations=2), privacy=SimpleNamespace(delta=0.0),
        data=SimpleNamespace(subsample=None), unit="image",
    )  # fmt: skip
    run = SimpleNamespace(plan=plan, record=SimpleNamespace(receipts=receipts))
    assert sum_spent(run) == [0, 1, 3]


def test_accuracy_is_shown_only_when_it_is_given_and_then_said_to_be_public(finished: Make):
    root = finished()
    assert "Accuracy" not in page(root).text
    with_accuracy = page(root, POINTS).text
    assert "Accuracy was measured on public data" in with_accuracy
    assert "random control" in with_accuracy
    assert "61%" in with_accuracy


def test_a_judge_that_voted_comes_last_is_marked_and_is_in_no_chart(finished: Make):
    voter = [AccuracyPoint("pcevolve", "bundled", True, t, 0.86 + t / 100, 0.02) for t in range(3)]
    other = [AccuracyPoint("pcevolve", "cnn", False, t, 0.41 + t / 10, 0.03) for t in range(3)]
    shown = page(finished(), [*voter, *other]).text
    assert shown.index("pcevolve cnn 2 61% 3%") < shown.index("pcevolve bundled (voted) 0 86% 2%")
    assert [shown.count(figure) for figure in ("86%", "87%", "88%")] == [1, 1, 1]
    assert "by judges that did not vote" in shown
    assert "pcevolve, by cnn from 41% to 61%" in shown
