"""How far one privacy unit can move a query that mechanisms are run on: sensitivities, and the rate of a draw.

Each function is for one kind of query and both neighbour relations. A query over disjoint groups of units (a histogram
for each class) counts as one vector, because a unit that leaves one group can enter another.
"""

from __future__ import annotations

import math
from fractions import Fraction

from pcevolve.privacy import Event, Relation


def histogram_sensitivity(relation: Relation) -> float:
    """L2 sensitivity of a sum of non-negative vectors of L2 norm at most 1, one from each privacy unit.

    Replacing a unit subtracts one such vector and adds another. Both are non-negative, so their difference is at most
    the square root of 2 long.
    """
    return 1.0 if relation == "add-remove" else math.sqrt(2)


JOINT_NORM = math.sqrt(2)
"""How far one record more moves a count, by 1, and a sum of vectors of norm 1 at most, together.

SecretNoise is published with 1, under which guesses at a secret are right more often than is promised.
"""


def bounded_sum_sensitivity(relation: Relation) -> float:
    """L2 sensitivity, in clip radii, of a sum of vectors in a ball, one from each privacy unit.

    Replacing a unit can move its vector from one end of the ball to the other: two radii.
    """
    return 1.0 if relation == "add-remove" else 2.0


DEVIATION_RADIUS = 0.5
"""Clip radius of deviations from a released centre, in clip radii of the points that the centre was released of."""


def deviation_sum_sensitivity(relation: Relation) -> float:
    """L2 sensitivity, in clip radii R of points, of sums by class of deviations from a released centre.

    Deviations lie in a ball of ``DEVIATION_RADIUS`` R, and a unit adds vectors of at most that norm to all classes
    together. So ``bounded_sum_sensitivity`` holds with that radius: R/2 under ``add-remove``, R under
    ``replace-one``, which a unit attains that goes from one end of the ball to the other within its class. A unit
    that changes its label moves two classes' sums by at most R/2 each, R/sqrt(2) in all, which is less.
    """
    return DEVIATION_RADIUS * bounded_sum_sensitivity(relation)


def bounded_vector_sensitivity(entries: int) -> float:
    """L2 sensitivity of a vector in [0, 1]^entries of which nothing else is known, under either relation."""
    return math.sqrt(entries)


def slots_sensitivity(values: int, relation: Relation) -> float:
    """L2 sensitivity of vectors in [0, 1]^values that stand in places of their classes, drawn at random.

    Every unit has one vector, in one class. A class's places are the first of a uniformly random order of its units
    and of as many blanks as there are places too many; a blank is a fixed vector in the same cube.

    One unit more or less in a class changes one place at most, in the sense of a coupling: take any order of the class
    with the unit. If it got a place, put what comes after the last place there instead, a unit that was left out or a
    blank; each order of the class without the unit comes out equally often. Given the coupled orders, two neighbouring
    datasets are released as vectors that differ in that place, by ``sqrt(values)`` at most, and Gaussian noise hides
    it. A pair of mixtures of such pairs, with the same weights, is as hard to tell apart as the pairs are: whoever is
    told the order besides has no more than one of the pairs before him. So trade-off functions carry over, not only
    (ε, δ).

    A unit that is replaced leaves one place and gets another. If it stays in its class that is one place again; if it
    changes its label there are two, ``sqrt(2 · values)`` apart in all.
    """
    return math.sqrt(values) * histogram_sensitivity(relation)


DRAWN_UNITS = 2
"""How many units of a subsample change, under either relation, where one changes of the folder that it is drawn from.

Under ``add-remove`` a unit that was drawn makes room for the next one of its class: one less and one more. Under
``replace-one`` that happens in two classes, where the unit changes its class: two are exchanged. The proof is in
``private.subsample``, whose draw is made for it.
"""


def draw_rate(event: Event, relation: Relation) -> Fraction:
    """Nats per unit of score at which a draw has the event's bounded range b, where a unit adds at most 1 in all.

    Under ``add-remove`` scores are monotone and range over the unit's one vote: b. Under ``replace-one`` a vote can
    leave one candidate and come to another: b / 2.
    """
    return event.value if relation == "add-remove" else event.value / 2
