"""When requests leave: no sooner after an answer than the owner wants."""

from __future__ import annotations

import pytest

from pcevolve.egress.pace import Pace
from support.clock import Clock


@pytest.mark.parametrize(("took", "passes"), [(0.125, 0.5), (0.75, 0.75)])
def test_a_request_leaves_no_sooner_after_an_answer_than_the_gap_says(took, passes):
    clock = Clock()
    pace = Pace(0.5, clock, clock.sleep)
    pace.note_answer()
    clock.now += took
    pace.wait_before_request()
    assert clock.now - 100.0 == pytest.approx(passes)


def test_the_first_request_of_a_process_leaves_at_once():
    clock = Clock()
    Pace(5.0, clock, clock.sleep).wait_before_request()
    assert clock.now == 100.0
