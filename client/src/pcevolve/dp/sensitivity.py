"""Sensitivities of the queries that mechanisms are run on, under both neighbour relations, and the rate of a draw.

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
    # Not ``2 * sensitivity`` for both, as in the usual statement: monotone scores are worth a factor of 2.
    return event.value if relation == "add-remove" else event.value / 2
