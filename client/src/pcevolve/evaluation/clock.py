"""How long an evaluation takes, by a few images and a few steps of each judge, and how far it has come."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pcevolve.encoders.threads import lone_workers, thread_count
from pcevolve.evaluation.heads import BATCH, Training
from pcevolve.evaluation.judge import SEEDS, Judge
from pcevolve.evaluation.labelled import Labelled
from pcevolve.private import ProgressCallback


@dataclass(frozen=True, eq=False)
class _Pace:
    """Seconds that a judge takes to look at one image, and to be trained on each number of images."""

    look: float
    train: Mapping[int, float]


@dataclass(eq=False)
class Clock:
    """Tells how far an evaluation has come, in the time that its parts were expected to take.

    Attributes:
        paces: Of each judge, by its name.
        total: Seconds that all of it will take.
        told: Is told of the seconds that are done, and of all.
        done: Seconds of it that are done.
    """

    paces: Mapping[str, _Pace]
    total: float
    told: ProgressCallback
    done: float = field(default=0.0)

    @classmethod
    def of(
        cls, judges: Sequence[Judge], sets: Mapping[str, Labelled], test: Labelled, told: ProgressCallback
    ) -> Clock:
        """Try every judge on a few held-out images.

        Args:
            test: Held-out images, which every judge looks at as well.
            told: Is told how many seconds of the work are done, and of how many.
        """
        sizes = [len(each.images) for each in sets.values()]
        apart = {id(each.images): len(each.images) for name, each in sets.items() if name != "both"}
        images = len(test.images) + sum(apart.values())
        paces = {judge.name: _pace(judge, test, sizes) for judge in judges}
        total = sum(pace.look * images + sum(pace.train[size] for size in sizes) for pace in paces.values())
        clock = cls(paces, total, told)
        clock._tell(0)
        return clock

    def looked(self, judge: Judge, images: Labelled) -> None:
        """Count that a judge has looked at images."""
        self._tell(self.paces[judge.name].look * len(images.images))

    def trained(self, judge: Judge, images: Labelled) -> None:
        """Count that a judge was trained on images, once for each seed."""
        self._tell(self.paces[judge.name].train[len(images.images)])

    def _tell(self, seconds: float) -> None:
        self.done += seconds
        whole = math.ceil(self.total)
        self.told(min(whole, math.ceil(self.done)), whole)


def _pace(judge: Judge, test: Labelled, sizes: Sequence[int]) -> _Pace:
    judge.look(test.images[:1])  # the first look prepares what all others use
    began = time.perf_counter()
    features = judge.look(test.images[:BATCH])
    look = (time.perf_counter() - began) / len(features)
    classes = int(test.targets.max()) + 1
    few = Training(np.nan_to_num(features), test.targets[:BATCH], classes)
    threads = thread_count()
    rounds = math.ceil(len(SEEDS) / threads)
    with lone_workers(threads) as workers:  # as heads are trained
        seconds = {size: workers.submit(judge.seconds, few, size).result() for size in sizes}
    return _Pace(look, {size: rounds * each for size, each in seconds.items()})
