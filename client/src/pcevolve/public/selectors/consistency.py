"""Choices that follow from a measurement, and an auditor's check of these choices on another machine.

Distances are compared in steps (``geometry.ruler``). If two distances are within one step, the first candidate wins. An
auditor's machine counts the same steps, except for distances near the edge of a step. Only such distances may lead to
different choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.geometry.distances import IntArray, distances, find_firsts_of_equals
from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.privacy import Events
from pcevolve.public.selectors.selection import Measurement, SelectionInput


def has_shape(measured: Measurement, form: Mapping[str, tuple[type, tuple[int, ...]]]) -> bool:
    """Return True if a measurement has exactly these arrays, by name, type and shape, and all numbers are finite."""
    return measured.keys() == form.keys() and all(
        # The types are compared exactly: float32 or an array of objects would leave room for bits that no check covers.
        measured[name].dtype == np.dtype(kind)
        and measured[name].shape == shape
        and bool(np.isfinite(measured[name]).all())
        for name, (kind, shape) in form.items()
    )


def are_eligible(drawn: NDArray[np.int64], inputs: SelectionInput) -> bool:
    """Return True if the draws of each class (the first axis) are eligible candidates."""
    return all(
        bool(np.isin(each, inputs.eligible(target)).all()) for target, each in enumerate(np.atleast_1d(drawn))
    )


def repeats(picked: IntArray, distinct: int) -> bool:
    """Return True if the first ``distinct`` picks differ from each other and the rest repeat them in the same order."""
    first = picked[:distinct]
    # If a client could repeat picks in any order, the order of the dataset could carry a hidden message.
    return len(set(first.tolist())) == len(first) and bool((picked == np.resize(first, len(picked))).all())


@dataclass(frozen=True)
class Order:
    """An order of candidates by a number, lowest first. The order is known as far as all machines agree on it.

    Attributes:
        low: float64 ``(n,)``, the smallest numbers that a machine may compute.
        high: float64 ``(n,)``, the largest numbers that a machine may compute.
        first: int64 ``(n,)``, the index of the first candidate that equals each candidate, bit for bit. No machine
            distinguishes equal candidates.
    """

    low: FloatArray
    high: FloatArray
    first: IntArray

    def surely_before(self, place: int) -> NDArray[np.bool_]:
        """Mark candidates that precede the candidate at ``place`` on every machine, bool ``(n,)``."""
        earlier = np.arange(len(self.low)) < place
        # A tie on every machine: both bounds are equal, or the candidates have the same bytes. The index then decides.
        tied = (self.high == self.low[place]) | (self.first == self.first[place])
        return np.asarray((self.high < self.low[place]) | (tied & earlier))

    def could_be_among(self, most: int) -> NDArray[np.bool_]:
        """Mark candidates that fewer than ``most`` others certainly precede, bool ``(n,)``. A machine may keep them."""
        # A candidate certainly precedes another only if its highest value is below the other's lowest value.
        return self._count(self.high, self.low) < most

    def are_among(self, most: int) -> NDArray[np.bool_]:
        """Mark candidates that fewer than ``most`` others possibly precede, bool ``(n,)``. Every machine keeps them."""
        # A candidate whose low and high differ is counted as its own possible predecessor, so it is subtracted again.
        return self._count(self.low, self.high) - (self.low < self.high) < most

    def _count(self, of: FloatArray, against: FloatArray) -> IntArray:
        """Return how many numbers of ``of`` precede each number of ``against``, int64 ``(n,)``. Ties go by index."""
        places = np.arange(len(of))
        # Among equal numbers ``against`` sorts first, so no candidate precedes itself.
        order = np.lexsort((np.repeat([0, 1], len(of)), np.tile(places, 2), np.concatenate([against, of])))
        counted = np.empty(2 * len(of), dtype=np.int64)
        counted[order] = np.cumsum(order >= len(of))
        return counted[: len(of)]


def surround(inputs: SelectionInput, target: int, winner: int, ruler: Ruler) -> IntArray:
    """Return a drawn candidate and its nearest neighbours in its class, ``inputs.wanted`` in all.

    The neighbours complete a draw of one candidate to the wanted number. They are public, because only the drawn
    candidate depends on private data. If the pool is too small, the candidates repeat in the same order.
    """
    others = inputs.eligible(target)
    # The drawn candidate is the first pick, so it must not be its own nearest neighbour.
    others = others[others != winner]
    pool = inputs.pools[target]
    near = ruler.count_steps(distances(pool[[winner]], pool[others])[0])
    # A stable sort: on every machine, the candidate that comes first wins a tie.
    return np.resize(np.append(winner, others[np.argsort(near, kind="stable")]), inputs.wanted)


def is_surrounded(inputs: SelectionInput, target: int, winner: int, picked: IntArray, ruler: Ruler) -> bool:
    """Return True if the picks could be the result of ``surround`` on some machine."""
    others = inputs.eligible(target)
    others = others[others != winner]
    distinct = min(inputs.wanted, len(others) + 1)
    if picked[0] != winner or not repeats(picked, distinct) or not np.isin(picked[1:distinct], others).all():
        return False
    pool = inputs.pools[target]
    # Another machine may round both ends of a distance differently, so the error is doubled.
    near = ruler.bound_steps(distances(pool[[winner]], pool[others])[0], moved=2)
    order, left = Order(*near, find_firsts_of_equals(pool[others])), np.ones(len(others), dtype=bool)
    # No remaining candidate may certainly precede a pick. This accepts exactly the orders that a machine can produce.
    for place in np.searchsorted(others, picked[1:distinct]):
        if (order.surely_before(place) & left).any():
            return False
        left[place] = False
    return True


class Drawn:
    """``pick`` and the auditor's checks, for selectors whose measurement is one drawn candidate of each class."""

    def pick(self, measured: Measurement, inputs: SelectionInput) -> tuple[IntArray, ...]:
        """Return the drawn candidates. If several per class are wanted, add their nearest neighbours in the pool.

        The budget pays for one draw per class and round. The other picks are therefore chosen by similarity alone.
        """
        ruler = inputs.ruler(measured)
        return tuple(
            surround(inputs, target, int(each), ruler) for target, each in enumerate(measured["chosen"])
        )

    def could_measure(self, measured: Measurement, inputs: SelectionInput, events: Events) -> bool:
        """Return True if there is one eligible candidate of each class."""
        form = {"chosen": (np.int64, (len(inputs.labels),))}
        return has_shape(measured, form) and are_eligible(measured["chosen"], inputs)

    def is_picked(self, measured: Measurement, inputs: SelectionInput, picked: Sequence[IntArray]) -> bool:
        """Return True if these are the drawn candidates and their nearest neighbours, up to rounding."""
        ruler = inputs.ruler(measured)
        return all(
            is_surrounded(inputs, target, int(winner), picked[target], ruler)
            for target, winner in enumerate(measured["chosen"])
        )
