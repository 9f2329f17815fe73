"""Choices that follow from a measurement, and an auditor's check of them on another machine.

Distances are compared in steps (``geometry.ruler``), and within a step the first candidate wins. An auditor's
machine counts the same steps except for distances at the edge of one; only these may go either way.
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
    """True if a measurement has exactly these arrays, by type and shape, without NaN."""
    return measured.keys() == form.keys() and all(
        # Exact types: a reader that took float32 or a view of objects would leave room for bits that no check counts.
        measured[name].dtype == np.dtype(kind)
        and measured[name].shape == shape
        and bool(np.isfinite(measured[name]).all())
        for name, (kind, shape) in form.items()
    )


def are_eligible(drawn: NDArray[np.int64], inputs: SelectionInput) -> bool:
    """True if the draws of each class (the first axis) are eligible candidates."""
    return all(
        bool(np.isin(each, inputs.eligible(target)).all()) for target, each in enumerate(np.atleast_1d(drawn))
    )


def repeats(picked: IntArray, distinct: int) -> bool:
    """True if the first ``distinct`` picks differ from each other and the rest repeat them in the same order."""
    first = picked[:distinct]
    # A client that repeated picks as it likes could write a message into the order of the dataset.
    return len(set(first.tolist())) == len(first) and bool((picked == np.resize(first, len(picked))).all())


@dataclass(frozen=True)
class Order:
    """Candidates ordered by a number, lowest first, as far as all machines agree.

    Attributes:
        low: float64 ``(n,)``, the least that a machine may compute.
        high: float64 ``(n,)``, the most that a machine may compute.
        first: int64 ``(n,)``, for each candidate the first one equal to it, bit for bit; no machine tells
            these apart.
    """

    low: FloatArray
    high: FloatArray
    first: IntArray

    def surely_before(self, place: int) -> NDArray[np.bool_]:
        """Mark candidates that come before this one on every machine, bool ``(n,)``."""
        earlier = np.arange(len(self.low)) < place
        # Equal on every machine: both bounds meet, or the candidates are the same bytes. Then the place
        # decides.
        tied = (self.high == self.low[place]) | (self.first == self.first[place])
        return np.asarray((self.high < self.low[place]) | (tied & earlier))

    def could_be_among(self, most: int) -> NDArray[np.bool_]:
        """Mark candidates that fewer than ``most`` others certainly precede, bool ``(n,)``."""
        # Only those whose highest value is below this one's lowest certainly come before it.
        return self._count(self.high, self.low) < most

    def are_among(self, most: int) -> NDArray[np.bool_]:
        """Mark candidates that fewer than ``most`` others may precede, bool ``(n,)``."""
        # A candidate whose own interval is open counts itself among those that may precede it; it is taken
        # out again.
        return self._count(self.low, self.high) - (self.low < self.high) < most

    def _count(self, of: FloatArray, against: FloatArray) -> IntArray:
        """Return how many numbers ``of`` precede each number ``against``; ties go by place, int64 ``(n,)``."""
        places = np.arange(len(of))
        # Of equal numbers ``against`` sorts first, so that no candidate precedes itself.
        order = np.lexsort((np.repeat([0, 1], len(of)), np.tile(places, 2), np.concatenate([against, of])))
        counted = np.empty(2 * len(of), dtype=np.int64)
        counted[order] = np.cumsum(order >= len(of))
        return counted[: len(of)]


def surround(inputs: SelectionInput, target: int, winner: int, ruler: Ruler) -> IntArray:
    """Return a drawn candidate and its nearest neighbours in its class, ``inputs.wanted`` in all.

    It completes a draw of one candidate to the wanted number. It is public: only the winner depends on
    private data. If the pool is too small, the same candidates repeat in the same order.
    """
    others = inputs.eligible(target)
    # The drawn candidate is the first pick, so it must not be its own nearest neighbour.
    others = others[others != winner]
    pool = inputs.pools[target]
    near = ruler.count_steps(distances(pool[[winner]], pool[others])[0])
    # Stable: ties go to the candidate that comes first, on every machine.
    return np.resize(np.append(winner, others[np.argsort(near, kind="stable")]), inputs.wanted)


def is_surrounded(inputs: SelectionInput, target: int, winner: int, picked: IntArray, ruler: Ruler) -> bool:
    """True if the picks could be those of ``surround`` on some machine."""
    others = inputs.eligible(target)
    others = others[others != winner]
    distinct = min(inputs.wanted, len(others) + 1)
    if picked[0] != winner or not repeats(picked, distinct) or not np.isin(picked[1:distinct], others).all():
        return False
    pool = inputs.pools[target]
    # Both ends of a distance may be rounded otherwise on another machine, hence twice the usual error.
    near = ruler.bound_steps(distances(pool[[winner]], pool[others])[0], moved=2)
    order, left = Order(*near, find_firsts_of_equals(pool[others])), np.ones(len(others), dtype=bool)
    # Each pick must be one that nothing left surely precedes. So every order that some machine produces
    # passes, and no other.
    for place in np.searchsorted(others, picked[1:distinct]):
        if (order.surely_before(place) & left).any():
            return False
        left[place] = False
    return True


class Drawn:
    """``pick`` and the auditor's checks for selectors that measure one ``chosen`` candidate of each class."""

    def pick(self, measured: Measurement, inputs: SelectionInput) -> tuple[IntArray, ...]:
        """Return the drawn candidates; if several per class are wanted, with their nearest neighbours in the pool.

        The budget pays for one draw per class and round, so the others can only be similar, not chosen.
        """
        ruler = inputs.ruler(measured)
        return tuple(
            surround(inputs, target, int(each), ruler) for target, each in enumerate(measured["chosen"])
        )

    def could_measure(self, measured: Measurement, inputs: SelectionInput, events: Events) -> bool:
        """True for one eligible candidate of each class."""
        form = {"chosen": (np.int64, (len(inputs.labels),))}
        return has_shape(measured, form) and are_eligible(measured["chosen"], inputs)

    def is_picked(self, measured: Measurement, inputs: SelectionInput, picked: Sequence[IntArray]) -> bool:
        """True if these are the drawn candidates and their nearest neighbours, up to rounding."""
        ruler = inputs.ruler(measured)
        return all(
            is_surrounded(inputs, target, int(winner), picked[target], ruler)
            for target, winner in enumerate(measured["chosen"])
        )
