"""The curve of what guesses are worth: it goes through what was promised, rises, and never lies below a mere guess."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.pages.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from pcevolve.pages.report.sections import Protection
from pcevolve.public.secrecy import Secrecy


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in path.split())]


@given(st.floats(-6, -0.5), st.floats(0.05, 1))
def test_the_curve(power: float, share: float):
    prior = 10.0**power
    drawn = Protection.of(Secrecy(prior=prior, bound=prior ** (1 - 0.9 * share), most=3))
    after, guess = points(drawn.after), points(drawn.guess)
    assert [x for x, _ in after] == [x for x, _ in guess]
    assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in after)
    assert all(one[1] <= other[1] + 0.2 for one, other in zip(after, guess, strict=True))
    assert all(second[1] <= first[1] for first, second in pairwise(after))
    near = min(after, key=lambda point: abs(point[0] - drawn.mark[0]))
    assert near[1] == pytest.approx(drawn.mark[1], abs=8)


def test_the_table_says_what_was_promised():
    drawn = Protection.of(Secrecy(prior=1e-4, bound=1e-3, most=3))
    assert dict(drawn.rows)[1e-4] == pytest.approx(1e-3)
    assert [power for _, power in drawn.across] == list(range(-6, 1))
