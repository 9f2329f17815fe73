"""Noised private images (DPImg): as many of every class as the plan says, under Gaussian noise.

Which unit comes into which place of its class is drawn at random. That is what bounds a unit's influence: where images
stood in the order of their names, one more of them could move all the others, and every place would change. Source:
DPImg in PCEvolve, appendix A.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from pcevolve.dp.mechanisms import FloatArray, Noise, clamped
from pcevolve.dp.sensitivity import slots_sensitivity
from pcevolve.privacy import Event, Events, Relation
from pcevolve.selectors.scene import (
    IntArray,
    Measurement,
    PrivateEmbeddings,
    Scene,
    deviation,
    expect,
    only,
)

BLANK: Final = 0.5
"""Every value of an image in a place for which there is no unit: mid-grey, released under the same noise."""


def noised(
    places: IntArray,
    values_of: Callable[[int], FloatArray],
    shape: tuple[int, ...],
    sigma: float,
    noise: Noise,
    key: str,
) -> Iterator[FloatArray]:
    """Release what stands in some places, one after the other.

    Args:
        places: int64 of any shape: the number of a private image, or -1 for none.
        values_of: All values of an image; they are forced into [0, 1].
        shape: Of an image's values, public.
        sigma: Standard deviation of the noise on each value.
        noise: Draws it.
        key: Public name of the release.

    Returns:
        The noisy values of each place, float64 in that shape.
    """
    for number, image in enumerate(places.ravel().tolist()):
        values = np.full(shape, BLANK) if image < 0 else clamped(values_of(image))
        yield noise.gaussian(f"{key}/{number}", values, sigma)


def drawn_places(
    targets: IntArray, units: IntArray, classes: int, wanted: int, noise: Noise, key: str
) -> IntArray:
    """Which private image stands in which place, int64 ``(classes, wanted)``; -1 where none does. Private.

    Every unit is represented by one of its images, drawn uniformly, and with it stands for one class alone. A class's
    units and as many blanks as make up ``wanted`` are put in random order; of more units than places, the last are left
    out. ``dp.sensitivity.slots_sensitivity`` says what that is for.

    Args:
        targets: int64 ``(images,)``: indices of their classes.
        units: int64 ``(images,)``: equal numbers are one privacy unit.
        classes: How many there are.
        wanted: Places of each.
        noise: Draws.
        key: Public name of the release.
    """
    standing = _one_of_each(units, noise, f"{key}/unit")
    places = np.full((classes, wanted), -1, dtype=np.int64)
    for target in range(classes):
        queue = [image for image in standing if targets[image] == target]
        queue += [-1] * (wanted - len(queue))
        for place in range(wanted):
            drawn = noise.uniform(f"{key}/{target}/{place}", len(queue))
            places[target, place] = queue.pop(drawn)
    return places


@dataclass(frozen=True)
class Noised:
    """Measures points in [0, 1]^d as a run measures images: what the privacy audit puts to the test."""

    def measure(self, private: PrivateEmbeddings, scene: Scene, events: Events, noise: Noise) -> Measurement:
        """Release every class's points under noise: float64 ``(classes · wanted, d)``.

        Raises:
            ValueError: The event is not of Gaussian noise; nothing was drawn.
        """
        points = np.asarray(private.embeddings, dtype=np.float64)
        shape = points.shape[1:]
        sigma = sigma_of(only(events), points.shape[1], scene.relation)
        classes, wanted = len(scene.labels), scene.wanted
        places = drawn_places(private.targets, private.units, classes, wanted, noise, scene.key)
        released = noised(places, points.__getitem__, shape, sigma, noise, scene.key)
        return {"noised": np.stack(list(released))}


def sigma_of(event: Event, values: int, relation: Relation) -> float:
    """Standard deviation of the noise on each of an image's values.

    Args:
        event: Pays.
        values: How many an image has.
        relation: Neighbour relation.

    Raises:
        ValueError: The event is not of Gaussian noise.
    """
    expect(event, "gaussian")
    return deviation(event, slots_sensitivity(values, relation))


def _one_of_each(units: IntArray, noise: Noise, key: str) -> list[int]:
    """One image of every unit, drawn uniformly, in the order of the units' numbers."""
    order = np.argsort(units, kind="stable")
    starts = np.unique(units[order], return_index=True)[1]
    groups = np.split(order, starts[1:]) if len(order) else []
    return [int(each[noise.uniform(f"{key}/{number}", len(each))]) for number, each in enumerate(groups)]
