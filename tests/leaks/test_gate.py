"""Whatever a loop, a method or a judge hands the gate: nothing leaves but what plan and release give."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaks.attempts import Attempt, tried
from leaks.corpus import CORPUS
from leaks.given import Count, WorldAt
from leaks.world import CALLS, World
from pcevolve.providers import DIALECTS


@pytest.mark.parametrize("attempt", CORPUS, ids=str)
def test_it_does_not_leave(attempt: Attempt, world_at: WorldAt, count: Count):
    world = world_at(attempt.moment, attempt.spoken)
    verdict = tried(attempt, world)
    world.spoilt |= not verdict.refused
    count(attempt.family, verdict.refused)
    assert verdict.refused, verdict


def test_there_are_at_least_two_hundred_different_attempts():
    assert len({str(each) for each in CORPUS}) == len(CORPUS) >= 200


def test_every_attempt_says_why_it_must_fail():
    assert all(len(each.reason) > 4 for each in CORPUS)


@pytest.mark.parametrize("moment", CALLS)
def test_what_the_honest_loop_sends_at_that_moment_does_leave(moment: str, folder: Path):
    world = World.at(moment, folder)
    honest = Attempt("honest", "the plan's own request", moment, lambda world: world.ask(), ".")
    verdict = tried(honest, world)
    assert (verdict.said, verdict.left) == ("None", 1)
    assert world.provider.requests[-1] == world.due


@pytest.mark.parametrize("spoken", sorted(DIALECTS))
def test_what_the_honest_loop_sends_in_that_dialect_does_leave(spoken: str, folder: Path):
    world = World.at("create-1", folder, spoken)
    before = len(world.provider.requests)
    tried(Attempt("honest", "", "create-1", lambda world: world.ask(), ".", spoken=spoken), world)
    assert world.provider.requests[before] == world.due
