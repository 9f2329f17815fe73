"""An auditor's checks of released class means: their form, and the choices that follow, up to rounding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.geometry.distances import IntArray, find_firsts_of_equals, squared_distances
from pcevolve.public.geometry.frame import is_rounded_to, rounding_step
from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.privacy import Events
from pcevolve.public.selectors.consistency import Order, has_shape, repeats
from pcevolve.public.selectors.means import aims_of, count_best, project_eligible, score
from pcevolve.public.selectors.selection import Measurement, SelectionInput
from pcevolve.public.selectors.sums import choose_release


def could_measure(measured: Measurement, inputs: SelectionInput, events: Events) -> bool:
    """Return True if there are rounded means of all classes, in a frame that some machine may compute."""
    frame = inputs.coordinates
    width, most = frame.axes.shape
    doubts = choose_release(frame, inputs, events).doubts
    by_class = len(inputs.labels), most
    shapes = {"middle": (most,), "means": by_class, "deviations": by_class}
    form = {
        "centre": (np.float64, (width,)),
        "axes": (np.float64, (width, most)),
        **{name: (np.float64, shapes[name]) for name in doubts},
    }
    if not has_shape(measured, form):
        return False
    # Half a step, because the noise may be next to a power of two, where another machine could use the smaller step.
    if not all(is_rounded_to(measured[name], rounding_step(doubt) / 2) for name, doubt in doubts.items()):
        return False
    return frame.resembles(measured["centre"], measured["axes"])


def is_picked(measured: Measurement, inputs: SelectionInput, picked: Sequence[IntArray]) -> bool:
    """Return True if the picks are near the released means and far from earlier picks, up to rounding."""
    return all(_follows(measured, inputs, target, each) for target, each in enumerate(picked))


def _follows(measured: Measurement, inputs: SelectionInput, target: int, picked: IntArray) -> bool:
    eligible, points = project_eligible(measured, inputs, target)
    squared = squared_distances(points, aims_of(measured))
    ruler = inputs.ruler(measured)
    order = bound_rank(squared, target, ruler, find_firsts_of_equals(inputs.pools[target][eligible]))
    most = count_best(inputs, len(eligible))
    distinct = min(inputs.wanted, most)
    if not np.isin(picked, eligible).all() or not repeats(picked, distinct):
        return False
    indices = np.searchsorted(eligible, picked[:distinct])
    return bool(order.could_be_among(most)[indices].all()) and could_be_spread(
        points, order, order.are_among(most), indices, ruler
    )


def bound_rank(squared: FloatArray, own: int, ruler: Ruler, first: IntArray) -> Order:
    """Return the order of ``rank`` as far as all machines agree. ``first`` has the same meaning as in ``Order``."""
    low, high = ruler.bound_steps(np.sqrt(squared))
    return Order(score(low, high, own), score(high, low, own), first)


def could_be_spread(
    points: FloatArray, order: Order, best: NDArray[np.bool_], indices: IntArray, ruler: Ruler
) -> bool:
    """Return True if picks could be the result of ``spread`` on some machine.

    Args:
        points: float64 ``(n, k)``.
        order: The order in which ``spread`` received the points.
        best: bool ``(n,)``, candidates that were certainly available to ``spread``.
        indices: int64 ``(picks,)``, in the order of the picks.

    Returns:
        True if, on some machine, each pick is at least as far from the earlier picks as every other candidate that was
        certainly available.
    """
    fewest, most = np.full((2, len(points)), np.inf)
    left = np.ones(len(points), dtype=bool)
    for index in indices:
        twins = (order.first == order.first[index]) & (np.arange(len(points)) < index)
        rivals = best & ((fewest > most[index]) | ((fewest == most[index]) & order.surely_before(index)))
        if ((rivals | twins) & left).any():
            return False
        low, high = ruler.bound_steps(np.sqrt(squared_distances(points[[index]], points)[0]), moved=2)
        fewest, most = np.minimum(fewest, low), np.minimum(most, high)
        left[index] = False
    return True
