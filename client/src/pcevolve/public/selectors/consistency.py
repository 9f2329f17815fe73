"""Choices that follow from a measurement, and whether they do where another machine computed the embeddings.

Distances are compared in steps (``geometry.ruler``), and within a step the candidate that comes first is first. So an
auditor's machine counts the same steps but for distances that lie on the edge of one; only these may go either way.
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
from pcevolve.public.selectors.scene import Measurement, SelectionInput


def has_shape(measured: Measurement, form: Mapping[str, tuple[type, tuple[int, ...]]]) -> bool:
    """True if a measurement has exactly these arrays, by type and shape, and no value is missing."""
    return measured.keys() == form.keys() and all(
        # Exact types: a reader that took float32 or a view of objects would leave room for bits that no check counts.
        measured[name].dtype == np.dtype(kind)
        and measured[name].shape == shape
        and bool(np.isfinite(measured[name]).all())
        for name, (kind, shape) in form.items()
    )


def are_entrants(drawn: NDArray[np.int64], scene: SelectionInput) -> bool:
    """True if draws of each class, the first axis, are candidates that could be drawn."""
    return all(
        bool(np.isin(each, scene.entrants(target)).all()) for target, each in enumerate(np.atleast_1d(drawn))
    )


def repeats(picked: IntArray, distinct: int) -> bool:
    """True if the first ``distinct`` picks differ from each other and the rest repeat them in the same order."""
    first = picked[:distinct]
    return len(set(first.tolist())) == len(first) and bool((picked == np.resize(first, len(picked))).all())


@dataclass(frozen=True)
class Order:
    """Candidates that are ordered by a number, the lowest first, as far as machines agree on it.

    Attributes:
        low: float64 ``(n,)``: the least that a machine may find; ``high`` the most.
        first: int64 ``(n,)``: of each, the first that equals it to the last bit, with which no machine confuses it.
    """

    low: FloatArray
    high: FloatArray
    first: IntArray

    def surely_before(self, place: int) -> NDArray[np.bool_]:
        """Mark candidates that come before one on every machine, bool ``(n,)``."""
        earlier = np.arange(len(self.low)) < place
        tied = (self.high == self.low[place]) | (self.first == self.first[place])
        return np.asarray((self.high < self.low[place]) | (tied & earlier))

    def could_be_among(self, most: int) -> NDArray[np.bool_]:
        """Mark candidates before which fewer than ``most`` surely come, bool ``(n,)``."""
        return self._count(self.high, self.low) < most

    def are_among(self, most: int) -> NDArray[np.bool_]:
        """Mark candidates before which fewer than ``most`` others may come, bool ``(n,)``."""
        return self._count(self.low, self.high) - (self.low < self.high) < most

    def _count(self, of: FloatArray, against: FloatArray) -> IntArray:
        """Return how many of some numbers come before each of others; equal ones by their places, int64 ``(n,)``."""
        places = np.arange(len(of))
        # Those that are counted against come first among equals, so that no candidate comes before itself.
        order = np.lexsort((np.repeat([0, 1], len(of)), np.tile(places, 2), np.concatenate([against, of])))
        counted = np.empty(2 * len(of), dtype=np.int64)
        counted[order] = np.cumsum(order >= len(of))
        return counted[: len(of)]


def surround(scene: SelectionInput, target: int, winner: int, ruler: Ruler) -> IntArray:
    """A drawn candidate and the others of its class that are nearest to it, until there are enough.

    For draws that name one candidate where several are wanted. Public: the pool decides all but the winner. Where
    the pool is too small the same are named again, in the same order.
    """
    others = scene.entrants(target)
    others = others[others != winner]
    pool = scene.pools[target]
    near = ruler.count_steps(distances(pool[[winner]], pool[others])[0])
    # Stable: ties go to the candidate that comes first, on every machine.
    return np.resize(np.append(winner, others[np.argsort(near, kind="stable")]), scene.wanted)


def is_surrounded(scene: SelectionInput, target: int, winner: int, picked: IntArray, ruler: Ruler) -> bool:
    """True if picks could be those of ``surround``: a drawn candidate and the nearest others of its class."""
    others = scene.entrants(target)
    others = others[others != winner]
    distinct = min(scene.wanted, len(others) + 1)
    if picked[0] != winner or not repeats(picked, distinct) or not np.isin(picked[1:distinct], others).all():
        return False
    pool = scene.pools[target]
    near = ruler.bound_steps(distances(pool[[winner]], pool[others])[0], moved=2)
    order, left = Order(*near, find_firsts_of_equals(pool[others])), np.ones(len(others), dtype=bool)
    for place in np.searchsorted(others, picked[1:distinct]):
        if (order.surely_before(place) & left).any():
            return False
        left[place] = False
    return True


class Drawn:
    """``pick`` and the auditor's questions for selectors that measure one ``chosen`` candidate of each class."""

    def pick(self, measured: Measurement, scene: SelectionInput) -> tuple[IntArray, ...]:
        """The drawn candidates; where several per class are wanted, with their nearest neighbours in the pool.

        One draw per class and round is what the budget is spent on, so the others can only be alike, not chosen.
        """
        ruler = scene.ruler(measured)
        return tuple(
            surround(scene, target, int(each), ruler) for target, each in enumerate(measured["chosen"])
        )

    def could_measure(self, measured: Measurement, scene: SelectionInput, events: Events) -> bool:
        """True for one candidate of each class that could be drawn."""
        form = {"chosen": (np.int64, (len(scene.labels),))}
        return has_shape(measured, form) and are_entrants(measured["chosen"], scene)

    def is_picked(self, measured: Measurement, scene: SelectionInput, picked: Sequence[IntArray]) -> bool:
        """True if these are the drawn candidates and their nearest neighbours, rounding aside."""
        ruler = scene.ruler(measured)
        return all(
            is_surrounded(scene, target, int(winner), picked[target], ruler)
            for target, winner in enumerate(measured["chosen"])
        )
