"""How long an evaluation takes, by a few images and a few steps of each judge, and how far it has come."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pcevolve.encoders.singly import lone_workers, thread_count
from pcevolve.evaluation.heads import BATCH, Training
from pcevolve.evaluation.judge import SEEDS, Judge
from pcevolve.evaluation.labelled import Labelled
from pcevolve.private import ProgressCallback

LEAST = 1e-6
"""Seconds that are no work: what rounding leaves of a sum that was taken apart."""


@dataclass(frozen=True, eq=False)
class _Pace:
    """Seconds that a judge takes to look at one image, and that one classifier takes on each number of images."""

    look: float
    train: Mapping[int, float]


@dataclass(eq=False)
class Clock:
    """Tells how long an evaluation has taken, and how long all of it will take at the pace so far.

    Attributes:
        paces: Of each judge, by its name.
        told: Is told of the seconds that have passed, and of all.
        done: Seconds that what is done was expected to take.
    """

    paces: Mapping[str, _Pace]
    total: float
    told: ProgressCallback
    clock: Callable[[], float] = time.monotonic
    done: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._tell(0)

    @classmethod
    def of(
        cls, judges: Sequence[Judge], sets: Mapping[str, Labelled], test: Labelled, told: ProgressCallback
    ) -> Clock:
        """Try every judge on a few held-out images."""
        sizes = [len(each.images) for each in sets.values()]
        apart = {id(each.images): each for name, each in sets.items() if name != "both"}.values()
        paces, total = {}, 0.0
        for judge in judges:
            pace = paces[judge.name] = _pace(judge, test, sizes)
            total += pace.look * sum(each.count_due(judge) for each in (test, *apart))
            total += len(SEEDS) * sum(pace.train[size] for size in sizes)
        return cls(paces, total, told)

    def count_look(self, judge: Judge, images: int) -> None:
        """Count that a judge has looked at so many images."""
        self._tell(self.paces[judge.name].look * images)

    def count_training(self, judge: Judge, training: Training) -> None:
        """Count that one of a judge's classifiers was trained; of images that it cannot use it was expected to, too."""
        known = self.paces[judge.name].train
        self._tell(known[min((size for size in known if size >= len(training.targets)), default=max(known))])

    def _tell(self, seconds: float) -> None:
        self.done += seconds
        passed = self.clock() - self._began
        left = max(self.total - self.done, 0.0)
        whole = math.ceil(passed + left * (passed / self.done if self.done else 1.0))
        self.told(whole if left < LEAST else min(whole, math.floor(passed)), whole)


def _pace(judge: Judge, test: Labelled, sizes: Sequence[int]) -> _Pace:
    judge.look(test.images[:1])  # the first look prepares what all others use
    began = time.perf_counter()
    features = judge.look(test.images[:BATCH])
    look = (time.perf_counter() - began) / len(features)
    classes = int(test.targets.max()) + 1
    few = Training(np.nan_to_num(features), test.targets[:BATCH], classes)
    threads = thread_count()
    with lone_workers(threads) as workers:  # as heads are trained
        seconds = {size: workers.submit(judge.seconds, few, size).result() for size in sizes}
    return _Pace(look, {size: each / threads for size, each in seconds.items()})
