"""Which runs touch a privacy unit, and how strongly, when runs cut the same images into different units."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..privacy import Relation
from .records import Unit

Exposure: TypeAlias = Mapping[str, int]
"""Of one unit: run → how many of that run's units change when this one does."""


def exposures(
    units: Sequence[Unit], runs: Mapping[str, Sequence[Unit]], relation: Relation
) -> list[Exposure]:
    """The exposures of all units, less those that another one is no better than.

    When a unit changes, so does every unit of a run that shares an image with it: a group of that size, whose loss is
    that of ``Event.on_group``. Under add-remove a unit that also holds other images is not removed but changed, which
    is one removal and one addition and counts twice.

    Args:
        units: Whoever is promised something; a unit of one run may be several units, or a part of one, to another.
        runs: Units of all runs.
        relation: Neighbour relation of all of them.

    Returns:
        At least one; an empty exposure when nothing is shared.
    """
    places = defaultdict(set)
    for run_id, theirs in runs.items():
        for place, unit in enumerate(theirs):
            for image in unit:
                places[image].add((run_id, place))
    found = {_exposure(unit, runs, places, relation) for unit in units}
    worst = [one for one in found if not any(_covers(other, one) for other in found if other != one)]
    return [dict(each) for each in worst] or [{}]


def _exposure(
    unit: Unit,
    runs: Mapping[str, Sequence[Unit]],
    places: Mapping[bytes, set[tuple[str, int]]],
    relation: Relation,
) -> frozenset[tuple[str, int]]:
    sizes: defaultdict[str, int] = defaultdict(int)
    for run_id, place in {place for image in unit for place in places.get(image, ())}:
        removed = runs[run_id][place] <= unit
        sizes[run_id] += 1 if removed or relation == "replace-one" else 2
    return frozenset(sizes.items())


def _covers(larger: frozenset[tuple[str, int]], smaller: frozenset[tuple[str, int]]) -> bool:
    sizes = dict(larger)
    return all(size <= sizes.get(run_id, 0) for run_id, size in smaller)
