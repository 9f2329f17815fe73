"""Promises of every method that looks at private data, the registry's and a toy: sensitivity, price, lift, words.

Every selector keeps its event's promise on all neighbouring datasets of small worlds, and hardly more than that.
Exact: probabilities and distances are computed, not sampled. Each claim comes with a check that the same enumeration
rejects a selector whose sensitivity is understated by 30 %. The audit of worst cases is in ``dp_audit/test_audit.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.public.dp.accountants import epsilon, within
from pcevolve.public.geometry.frame import STEP, Frame
from pcevolve.public.privacy import Budget, Event, Events, Relation
from pcevolve.public.selectors import METHODS
from pcevolve.public.selectors.rounds import uniform_lift
from support.contract import CONTRACTED, find_payment, scope, usual_delta
from support.examples import examples, is_nightly
from support.neighbours import RELATIONS, Enumeration, Observer, World, records_of

statistical = pytest.mark.statistical

UNDERSTATED = 1 / 0.7
SLACK = 1e-12  # float64 in the test's own logarithms
NAN = math.nan
LINE = (-2.0, -0.5, 1.0, 3.0)

# Hostile pools: many copies of one candidate bring the worst log-ratio close to the bound, and one is unusable.
COPIES = World(pools=((-1.5, 0.4, NAN, *[2.0] * 20),) * 2, places=LINE)
FEW = World(pools=((-1.5, 0.4, 2.5), (-1.0, 0.5, 2.0, NAN)), places=LINE)
# Two images per unit, of one class or of two, in one block of classes or in two.
PAIRS = replace(FEW, images=2, sizes=(0, 1), places=(-2.0, 1.0, 3.0))
BLOCKS = World(
    pools=((-1.0, 1.0), (-1.0, 1.0), (-0.9, 1.1), (-1.1, 0.9)), places=(-1.0, 1.0), images=2, sizes=(0, 1)
)
SEVERAL = replace(FEW, pools=((-1.5, 0.4, 2.5, 2.6, 2.7), (-1.0, 0.5, 2.0, NAN)), votes=2)
FRAMED = replace(FEW, frame=Frame(np.array([0.5]), np.array([[1.0]]), 1.5, np.array([2.0]), STEP))
WORLDS = (COPIES, FEW, PAIRS, BLOCKS, FRAMED)
MIDDLE = 0.1
"""What the release of a centre is made to say in these."""


@dataclass(frozen=True)
class Promise:
    """A method, what pays for one of its rounds, and the world that tries it.

    Attributes:
        events: Those of the method's own calibration if None.
        middle: What the release of a centre is made to say.
    """

    method: str
    world: World
    events: Events | None = None
    middle: float = MIDDLE

    def shares(self, relation: Relation, overstating: float = 1.0) -> list[float]:
        """How far apart neighbours are, of what each access has paid for: bounded ranges, or sensitivities."""
        classes, candidates = len(self.world.pools), len(self.world.pools[0])
        events = self.events or find_payment(self.method, relation, classes, candidates)
        made = Enumeration(
            self.world, CONTRACTED[self.method].make_selector(), events, relation, overstating, self.middle
        )
        if events[0].mechanism == "exponential":
            most, widest = made.exponential()
            assert most <= widest + SLACK
            return [widest / (float(events[0].value) + SLACK)]
        return [each * float(event.value) for each, event in zip(made.gaussian(), events, strict=True)]


def best_of_worlds(name: str, relation: Relation, overstating: float = 1.0) -> list[float]:
    """For each access of a method's round, the most that any world shows of it."""
    shares = (Promise(name, world).shares(relation, overstating) for world in WORLDS)
    return [max(each) for each in zip(*shares, strict=True)]


@statistical
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", CONTRACTED)
def test_no_neighbours_are_farther_apart_than_was_paid_for_and_some_are_as_far(name: str, relation: Relation):
    assert all(0.99 <= share <= 1 for share in best_of_worlds(name, relation))


@statistical
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", CONTRACTED)
def test_a_sensitivity_understated_by_30_percent_is_noticed(name: str, relation: Relation):
    assert min(best_of_worlds(name, relation, UNDERSTATED)) > 1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", CONTRACTED)
def test_the_last_access_hides_what_the_sensitivity_that_the_method_names_asks_for(
    name: str, relation: Relation
):
    method, scene, observer = CONTRACTED[name], FRAMED.scene(relation), Observer(middle=MIDDLE)
    events = find_payment(name, relation, len(scene.labels), len(scene.pools[0]))
    everybody = records_of(tuple(((place, target),) for place in LINE for target in (0, 1)))
    method.make_selector().measure(everybody, scene, events, observer)
    _, _, scale = observer.asked[-1]
    assert len({key for key, _, _ in observer.asked}) == len(observer.asked), (
        "no two draws have the same noise"
    )
    unit = scene.coordinates.radius if method.sensitivity.unit == "clip radii R" else 1.0
    moved, value = method.sensitivity.of(relation) * unit, float(events[-1].value)
    assert scale == pytest.approx(value * moved if events[-1].mechanism == "gaussian" else value / moved)


TIGHT = 0.99
VOTED = (Event("gaussian", "5/4"),)
TWICE = (Event("gaussian", "5/2"), Event("gaussian", "5/4"))
MORE = {
    "cells, two for all candidates": (Promise("secpe", replace(FEW, cells=2)), TIGHT),
    "cells, two for all candidates, units of two": (Promise("secpe", replace(PAIRS, cells=2)), TIGHT),
    "votes, three each": (Promise("pe", SEVERAL), TIGHT),
    "votes, units of two with three each": (Promise("pe", replace(PAIRS, votes=3)), 0.9),
    "votes and class counts": (Promise("pe", FEW, TWICE), TIGHT),
    "votes and class counts, units of two": (Promise("pe", PAIRS, TWICE), TIGHT),
    "means at once": (Promise("dp-means", FEW, VOTED), TIGHT),
    "means at once, units of two": (Promise("dp-means", PAIRS, VOTED), TIGHT),
    "means at once, four classes": (Promise("dp-means", BLOCKS, VOTED), 0.8),
    **{
        f"means around a centre at {middle:g}, {name}": (Promise("dp-means", world, TWICE, middle), 0.7)
        for middle in ((0.0, 0.4, -1.0, 40.0) if is_nightly() else (0.4, 40.0))
        for name, world in (("one", FEW), ("units of two", PAIRS), ("four classes", BLOCKS))
    },
}
"""What methods do besides their defaults, with the least share that some neighbours must reach."""


@statistical
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", MORE)
def test_what_is_not_the_default_keeps_its_promise_too(name: str, relation: Relation):
    promise, tight = MORE[name]
    assert all(tight <= share <= 1 for share in promise.shares(relation))
    assert min(promise.shares(relation, UNDERSTATED)) > 1


@settings(max_examples=examples(60))
@given(
    name=st.sampled_from(sorted(CONTRACTED)),
    total=st.fractions(Fraction(1, 10), 20, max_denominator=1000),
    iterations=st.integers(1, 20),
    classes=st.integers(1, 12),
    relation=st.sampled_from(RELATIONS),
)
def test_every_method_spends_its_budget_and_no_more(name, total, iterations, classes, relation):
    budget = Budget(total, usual_delta(name))
    sizes = scope(iterations=iterations, classes=classes, relation=relation)
    rounds = CONTRACTED[name].events(budget, sizes)
    events = [event for each in rounds for event in each]
    assert len(rounds) == iterations
    assert within(events, budget)
    assert epsilon(events, budget.delta) > 0.98 * float(total)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", CONTRACTED)
def test_a_lift_lies_between_luck_and_1_and_a_larger_budget_never_has_a_smaller_one(name, relation):
    chosen, sizes = CONTRACTED[name], scope(relation=relation)
    budgets = (Budget(Fraction(total), usual_delta(name)) for total in (1, 4, 16))
    lifts = [chosen.lift(chosen.events(each, sizes)[0], sizes) for each in budgets]
    assert uniform_lift((), sizes) <= lifts[0] <= lifts[1] <= lifts[2] <= 1


def test_what_looks_at_private_data_names_its_sensitivity_and_its_worst_case_and_nothing_else_does():
    looking = {name for name, each in METHODS.items() if each.selector}
    assert looking == {name for name, each in METHODS.items() if each.sensitivity}
    assert looking == {name for name, each in METHODS.items() if each.worst_case}
