"""Choices that follow from a measurement, and the auditor's questions whether they do: processors round differently.

Embeddings are float32 and sums of products, and two machines agree on them to about six digits. So what is nearly
equal on one may come in another order on the other, and no more than that is forgiven: see ``MACHINE_SHARE``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pcevolve.dp.mechanisms import FloatArray
from pcevolve.geometry.distances import IntArray, distances
from pcevolve.privacy import Events
from pcevolve.selectors.scene import Measurement, Scene

MACHINE_SHARE = 1e-4
"""Share of a distance by which two machines may differ; float32 embeddings differ by a hundredth of it."""
MACHINE_STEP = 4e-6
"""Share of the largest norm by which two machines may differ in a distance, however small it is."""


def has_shape(measured: Measurement, form: Mapping[str, tuple[type, tuple[int, ...]]]) -> bool:
    """True if a measurement has exactly these arrays, by type and shape, and no value is missing."""
    return measured.keys() == form.keys() and all(
        # Exact types: a reader that took float32 or a view of objects would leave room for bits that no check counts.
        measured[name].dtype == np.dtype(kind)
        and measured[name].shape == shape
        and bool(np.isfinite(measured[name]).all())
        for name, (kind, shape) in form.items()
    )


def are_entrants(drawn: NDArray[np.int64], scene: Scene) -> bool:
    """True if draws of each class, the first axis, are candidates that could be drawn."""
    return all(
        bool(np.isin(each, scene.entrants(target)).all()) for target, each in enumerate(np.atleast_1d(drawn))
    )


def repeats(picked: IntArray, distinct: int) -> bool:
    """True if the first ``distinct`` picks differ from each other and the rest repeat them in the same order."""
    first = picked[:distinct]
    return len(set(first.tolist())) == len(first) and bool((picked == np.resize(first, len(picked))).all())


def surround(scene: Scene, target: int, winner: int) -> IntArray:
    """A drawn candidate and the others of its class that are nearest to it, until there are enough.

    For draws that name one candidate where several are wanted. Public: the pool decides all but the winner. Where
    the pool is too small the same are named again, in the same order.
    """
    others = scene.entrants(target)
    others = others[others != winner]
    pool = scene.pools[target]
    near = distances(pool[[winner]], pool[others])[0]
    # Stable: equal distances go to the candidate that comes first, on every machine.
    return np.resize(np.append(winner, others[np.argsort(near, kind="stable")]), scene.wanted)


def is_surrounded(scene: Scene, target: int, winner: int, picked: IntArray) -> bool:
    """True if picks could be those of ``surround``: a drawn candidate and the nearest others of its class."""
    others = scene.entrants(target)
    others = others[others != winner]
    distinct = min(scene.wanted, len(others) + 1)
    if picked[0] != winner or not repeats(picked, distinct) or not np.isin(picked[1:distinct], others).all():
        return False
    pool = scene.pools[target]
    near = np.nan_to_num(distances(pool[[winner]], pool)[0])  # where none can be used, all are alike
    chosen, left = near[picked[1:distinct]], near[np.setdiff1d(others, picked)]
    slack = MACHINE_SHARE * float(near[others].max(initial=0.0))
    in_order = bool((np.diff(chosen) >= -slack).all())
    return in_order and (not len(chosen) or float(left.min(initial=np.inf)) >= float(chosen.max()) - slack)


def mark_possible_and_sure(
    strays: NDArray[np.bool_], score: FloatArray, margin: FloatArray, most: int, slack: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Of candidates in the order of ``means.rank``, which may be, and which surely are, among the best.

    Ranked first is the own class's candidate with the lowest score. Where it is unclear whether one strays, ``low`` has
    it as the own class's and ``high`` as a stray; ``last`` is the worst of the best.

    Args:
        strays: bool ``(n,)``: another class's mean is nearer than the own.
        score: float64 ``(n,)``: the lower the better.
        margin: float64 ``(n,)``: how clear it is whether each strays.
        most: How many are among the best.
        slack: By how much scores and margins may differ.
    """
    unclear = margin <= slack
    low, high = strays & ~unclear, strays | unclear
    last = np.lexsort((score, strays))[most - 1]
    possible = (
        (low < high[last])
        | ((low == high[last]) & (score - slack <= score[last] + slack))
        | (low < low[last])
    )
    surely = (high < low[last]) | ((high == low[last]) & (score + slack < score[last] - slack))
    return np.asarray(possible), np.asarray(surely)


class Drawn:
    """``pick`` and the auditor's questions for selectors that measure one ``chosen`` candidate of each class."""

    def pick(self, measured: Measurement, scene: Scene) -> tuple[IntArray, ...]:
        """The drawn candidates; where several per class are wanted, with their nearest neighbours in the pool.

        One draw per class and round is what the budget is spent on, so the others can only be alike, not chosen.
        """
        return tuple(surround(scene, target, int(each)) for target, each in enumerate(measured["chosen"]))

    def could_measure(self, measured: Measurement, scene: Scene, events: Events) -> bool:
        """True for one candidate of each class that could be drawn."""
        form = {"chosen": (np.int64, (len(scene.labels),))}
        return has_shape(measured, form) and are_entrants(measured["chosen"], scene)

    def is_picked(self, measured: Measurement, scene: Scene, picked: Sequence[IntArray]) -> bool:
        """True if these are the drawn candidates and their nearest neighbours, rounding aside."""
        return all(
            is_surrounded(scene, target, int(winner), picked[target])
            for target, winner in enumerate(measured["chosen"])
        )
