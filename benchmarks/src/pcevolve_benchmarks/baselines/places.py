"""Which images stand for their classes where a baseline takes them themselves: noised (DPImg) or captioned (GCap)."""

from __future__ import annotations

import numpy as np

from pcevolve.errors import UsageError
from pcevolve.public.dp.mechanisms import Noise
from pcevolve.public.geometry.distances import IntArray
from pcevolve_benchmarks.baselines.session import Options


def one_round(given: Options) -> Options:
    """One round, of as many images of each class as divide its candidates, and no more than there are shots.

    Raises:
        UsageError: More rounds, or candidates before the first, are asked for.
    """
    if int(given.get("iterations", 1)) != 1:
        raise UsageError(
            "iterations: what private images themselves give is varied in one round, without candidates before it: "
            "leave it out"
        )
    candidates = int(given.get("candidates", 100))
    shots = int(given.get("subsample") or given.get("shots") or candidates)
    most = min(candidates, shots)
    divisor = next(count for count in range(most, 0, -1) if candidates % count == 0)
    return {"iterations": 1, "prototypes": int(given.get("prototypes") or divisor)}


def place_id(target: int, index: int) -> str:
    """Id of what a round takes of the ``index``-th place of a class; no candidate has it."""
    return f"p001-c{target:03d}-{index:06d}"


def draw_places(
    targets: IntArray, units: IntArray, classes: int, wanted: int, noise: Noise, key: str
) -> IntArray:
    """Which image stands in which place, int64 ``(classes, wanted)``; -1 where none does.

    Every unit is represented by one of its images, drawn uniformly, and with it stands for one class alone. A class's
    units and as many blanks as make up ``wanted`` are put in random order; of more units than places, the last are
    left out. That bounds a unit's influence to one place: in the order of names one more image could move all others.

    Args:
        targets: int64 ``(images,)``: indices of their classes.
        units: int64 ``(images,)``: equal numbers are one privacy unit.
        classes: How many there are.
        wanted: Places of each.
        noise: Draws.
        key: Public name of the round.
    """
    standing = _one_of_each(units, noise, f"{key}/unit")
    places = np.full((classes, wanted), -1, dtype=np.int64)
    for target in range(classes):
        queue = [image for image in standing if targets[image] == target]
        queue += [-1] * (wanted - len(queue))
        for place in range(wanted):
            places[target, place] = queue.pop(noise.uniform(f"{key}/{target}/{place}", len(queue)))
    return places


def _one_of_each(units: IntArray, noise: Noise, key: str) -> list[int]:
    """One image of every unit, drawn uniformly, in the order of the units' numbers."""
    order = np.argsort(units, kind="stable")
    starts = np.unique(units[order], return_index=True)[1]
    groups = np.split(order, starts[1:]) if len(order) else []
    return [int(each[noise.uniform(f"{key}/{number}", len(each))]) for number, each in enumerate(groups)]
