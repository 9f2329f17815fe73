"""Held-out images of a data set, as they are and as judges see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcevolve.private.dataset import load_folder
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.judges import table_judges


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out images, at most so many of each class, and their classes."""

    labels: tuple[str, ...]
    images: Sequence[Any]
    targets: NDArray[np.int64]


@cache
def held_out(data: BenchData, most: int) -> HeldOut:
    """The first held-out images of each class, read once in the life of a process."""
    whole = load_folder(data.test, unique=False)
    kept = np.sort(np.concatenate(list(_first(whole.targets, len(whole.labels), most))))
    return HeldOut(whole.labels, [whole.items[place] for place in kept], whole.targets[kept])


def _first(targets: NDArray[np.int64], classes: int, most: int) -> Iterable[NDArray[np.int64]]:
    return (np.flatnonzero(targets == target)[:most] for target in range(classes))


@cache
def as_seen_by(judge: str, data: BenchData, most: int) -> NDArray[np.floating]:
    """Held-out images as a judge sees them."""
    (one,) = table_judges((judge,), None)
    return one.look(held_out(data, most).images)
