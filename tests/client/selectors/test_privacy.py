"""Every selector keeps its event's promise on all neighbouring datasets of small worlds, and hardly more than that.

Exact: probabilities and distances are computed, not sampled. Each claim comes with a check that the same enumeration
rejects a selector whose sensitivity is understated by 30 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from pcevolve.privacy import Event, Events, Relation
from pcevolve.selectors import SELECTORS
from pcevolve.selectors.frame import Frame
from support.examples import is_nightly
from support.neighbours import RELATIONS, Enumeration, World

pytestmark = pytest.mark.statistical

UNDERSTATED = 1 / 0.7
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
FRAMED = replace(FEW, frame=Frame(np.array([0.5]), np.array([[1.0]]), 1.5, np.array([2.0])))


@dataclass(frozen=True)
class Promise:
    """A selector, what pays for one of its rounds, and the world that tries it.

    Attributes:
        access: Which part of a draw's key, between slashes, names the access that it is part of.
        tight: The least share of the bounded range that some pair of neighbours must reach.
        middle: What the release of a centre is made to say.
    """

    selector: str
    events: Events
    world: World
    access: int
    tight: float
    middle: float | None = None

    def composed(self, key: str) -> str:
        return key.split("/")[self.access]

    def enumeration(self, relation: Relation, overstating: float = 1.0) -> Enumeration:
        return Enumeration(
            self.world, SELECTORS[self.selector](), self.events, relation, overstating, self.middle
        )

    def in_sensitivities(self, relation: Relation, overstating: float = 1.0) -> list[float]:
        """How far apart neighbours are in each Gaussian draw, in the sensitivities that its event has paid for."""
        found = self.enumeration(relation, overstating).gaussian()
        paid = [event for event in self.events for _ in range(event.count)]
        return [each * float(event.value) for each, event in zip(found, paid, strict=True)]


BY_CLASS = Event("exponential", "3/2", count=2)
DRAWS = Event("exponential", "3/2", count=2)
ROUND = Event("exponential", "3/2")
COUNTED = (Event("gaussian", "5/2"), Event("gaussian", "5/4"))
CENTRED = (Event("gaussian", "5/2"), Event("gaussian", "5/4"))

EXPONENTIAL = {
    "contrastive": Promise("contrastive", (BY_CLASS,), COPIES, access=1, tight=0.99),
    "contrastive, units of two": Promise("contrastive", (BY_CLASS,), PAIRS, access=1, tight=0.99),
    "votes-em": Promise("votes-em", (DRAWS,), FEW, access=2, tight=0.99),
    "votes-em, units of two": Promise("votes-em", (DRAWS,), PAIRS, access=2, tight=0.99),
    "votes-em, four classes": Promise("votes-em", (DRAWS,), BLOCKS, access=2, tight=0.99),
    "joint": Promise("joint", (ROUND,), FEW, access=0, tight=0.99),
    "joint, units of two": Promise("joint", (ROUND,), PAIRS, access=0, tight=0.99),
    "joint, two blocks": Promise("joint", (ROUND,), BLOCKS, access=0, tight=0.99),
}
GAUSSIAN = {
    "votes": Promise("votes", (Event("gaussian", "5/4"),), FEW, access=0, tight=0.99),
    "votes, the best kept": Promise("votes-rank", (Event("gaussian", "5/4"),), FEW, access=0, tight=0.99),
    "cells": Promise("cells", (Event("gaussian", "5/4"),), FEW, access=0, tight=0.99),
    "cells, two for all candidates": Promise(
        "cells", (Event("gaussian", "5/4"),), replace(FEW, cells=2), access=0, tight=0.99
    ),
    "cells, two for all candidates, units of two": Promise(
        "cells", (Event("gaussian", "5/4"),), replace(PAIRS, cells=2), access=0, tight=0.99
    ),
    "cells, units of two": Promise("cells", (Event("gaussian", "5/4"),), PAIRS, access=0, tight=0.99),
    "votes, units of two": Promise("votes", (Event("gaussian", "5/4"),), PAIRS, access=0, tight=0.99),
    "votes, three each": Promise("votes", (Event("gaussian", "5/4"),), SEVERAL, access=0, tight=0.99),
    "votes, units of two with three each": Promise(
        "votes", (Event("gaussian", "5/4"),), replace(PAIRS, votes=3), access=0, tight=0.9
    ),
    "votes and class counts": Promise("votes", COUNTED, FEW, access=0, tight=0.99),
    "votes and class counts, units of two": Promise("votes", COUNTED, PAIRS, access=0, tight=0.99),
    "votes, four classes": Promise("votes", (Event("gaussian", "5/4"),), BLOCKS, access=0, tight=0.99),
    **{
        f"means around a centre at {middle:g}, {name}": Promise(
            "means", CENTRED, world, access=0, tight=tight, middle=middle
        )
        for middle in ((0.0, 0.4, -1.0, 40.0) if is_nightly() else (0.4, 40.0))
        for name, world, tight in (
            ("one", FEW, 0.7),
            ("units of two", PAIRS, 0.7),
            ("four classes", BLOCKS, 0.7),
        )
    },
    "means in a public frame": Promise("means", CENTRED, FRAMED, access=0, tight=0.99, middle=0.1),
    "means": Promise("means", (Event("gaussian", "5/4"),), FEW, access=0, tight=0.99),
    "means, units of two": Promise("means", (Event("gaussian", "5/4"),), PAIRS, access=0, tight=0.99),
    "means, four classes": Promise("means", (Event("gaussian", "5/4"),), BLOCKS, access=0, tight=0.8),
}
SLACK = 1e-12  # float64 in the test's own logarithms


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", EXPONENTIAL)
def test_no_neighbours_can_be_told_apart_by_more_than_the_bounded_range(name: str, relation: Relation):
    promise = EXPONENTIAL[name]
    claimed = float(promise.events[0].value)
    most, widest = promise.enumeration(relation).exponential(promise.composed)
    assert most <= widest + SLACK
    assert promise.tight * claimed <= widest <= claimed + SLACK


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", EXPONENTIAL)
def test_a_range_understated_by_30_percent_is_noticed(name: str, relation: Relation):
    promise = EXPONENTIAL[name]
    _, widest = promise.enumeration(relation, UNDERSTATED).exponential(promise.composed)
    assert widest > float(promise.events[0].value) + SLACK


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", GAUSSIAN)
def test_no_neighbours_are_farther_apart_than_the_noise_multiplier_says(name: str, relation: Relation):
    promise = GAUSSIAN[name]
    for distance in promise.in_sensitivities(relation):
        assert promise.tight <= distance <= 1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_sensitivity_understated_by_30_percent_is_noticed(name: str, relation: Relation):
    promise = GAUSSIAN[name]
    assert min(promise.in_sensitivities(relation, UNDERSTATED)) > 1


def test_every_selector_that_looks_at_private_data_is_enumerated():
    enumerated = {each.selector for each in (*EXPONENTIAL.values(), *GAUSSIAN.values())}
    assert enumerated == set(SELECTORS)
