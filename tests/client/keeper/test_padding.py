"""The keeper's clock: what is left to see of how long the private side took."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.keeper.padding import Padding, choose_tick, judge_padding
from pcevolve.keeper.private.judge import UniformJudge
from pcevolve.public.dp.mechanisms import SecureNoise
from support.clock import Clock
from support.provider import FakeProvider
from support.runs import PaddedJudge, SmallRun


def section(padding: Padding, clock: Clock, took: float) -> float:
    """Seconds that a private section takes in all, if its work takes ``took``."""
    before = clock.now
    with padding.section():
        clock.now += took
    return clock.now - before


@given(took=st.floats(0, 1000), tick=st.floats(0.01, 100))
def test_private_work_takes_a_whole_number_of_ticks_that_cover_it(took, tick):
    clock = Clock()
    passed = section(Padding(tick, clock, clock.sleep), clock, took)
    assert max(took, tick) - 1e-9 <= passed <= took + tick + 1e-9
    assert passed / tick == pytest.approx(round(passed / tick), abs=1e-6)


@pytest.mark.parametrize("public", [0.0, 0.4, 0.8, 7.3])
@pytest.mark.parametrize("private", [0.0, 0.5, 0.9])
def test_how_long_public_work_took_does_not_carry_private_work_over_a_tick(public, private):
    clock = Clock()
    padding = Padding(1.0, clock, clock.sleep)
    clock.now += public
    section(padding, clock, private)
    assert clock.now - 100.0 == pytest.approx(public + 1.0)


def test_private_work_that_fails_ends_at_a_tick_too():
    clock = Clock()

    def failing() -> None:
        with Padding(2.0, clock, clock.sleep).section():
            clock.now += 0.5
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        failing()
    assert clock.now == pytest.approx(102.0)


def test_the_longest_private_section_is_remembered_without_its_padding():
    clock = Clock()
    padding = Padding(2.0, clock, clock.sleep)
    assert padding.longest == 0
    for took in (0.25, 3.5, 1.0):
        section(padding, clock, took)
    assert padding.longest == pytest.approx(3.5)
    assert "3.5" not in repr(padding)


@pytest.mark.parametrize("slow", [0.0, 0.3, 3.9])
def test_a_provider_with_a_clock_sees_the_same_schedule_however_long_the_selection_takes(tmp_path, slow):
    clock = Clock()
    seen: list[float] = []

    def look(request):
        seen.append(clock.now)

    class SlowJudge(UniformJudge):
        def release(self, query, pool):
            clock.now += slow
            return super().release(query, pool)

    run = SmallRun.open(tmp_path, provider=FakeProvider(look))
    slow_judge = SlowJudge(run.account, SecureNoise(), run.plan)
    run.judge = PaddedJudge(slow_judge, Padding(4.0, clock, clock.sleep))
    run.evolve()
    assert len(seen) == 1 + len(run.plan.calls)
    first = {next(iter(run.plan.round(iteration))).slot for iteration in range(1, 3)}
    opening = [place for place, slot in enumerate(run.plan.calls, 1) if slot in first]
    expected = [sum(4.0 for each in opening if each <= place) for place in range(len(seen))]
    assert [each - 100.0 for each in seen] == pytest.approx(expected)


@pytest.mark.parametrize("took", [0.25, 1.25])
def test_without_a_tick_private_work_takes_as_long_as_it_takes(took):
    clock = Clock()
    assert section(Padding(clock=clock, sleep=clock.sleep), clock, took) == took


@pytest.mark.parametrize(
    ("asked", "pairs", "tick"),
    [
        (None, 0, 0.5),
        (None, 40 * 640, 0.5),
        (None, 10_000 * 2_000, 2.0),
        (None, 300_000 * 5_000, 150.0),
        (0.0, 10**12, 0.0),
        (7.0, 10**12, 7.0),
    ],
)
def test_a_tick_follows_from_public_sizes_unless_somebody_asks_for_one(asked, pairs, tick):
    assert choose_tick(asked, pairs) == pytest.approx(tick)


@pytest.mark.parametrize(
    ("longest", "warned"), [(4.95, False), (5.0, False), (5.05, True), (6.0, True), (9.9, True), (11.0, True)]
)
def test_the_owner_is_warned_as_soon_as_private_work_takes_more_than_its_tick(longest, warned):
    said = judge_padding(longest, 5.0)
    assert said.startswith("WARNING") is warned
    assert ("the provider could observe the longer time" in said) is warned
    # Half as long again as the longest.
    assert ("--set privacy.pad_selection=9 next time" in said) is (longest == 6.0)
