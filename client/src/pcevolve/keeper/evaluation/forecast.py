"""Forecast the time that judging takes, from a short measurement of each judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from pcevolve.keeper.evaluation import heads
from pcevolve.keeper.evaluation.heads import BATCH, Training
from pcevolve.keeper.evaluation.judge import Evaluator, find_usable
from pcevolve.public.encoders.singly import thread_count
from pcevolve.public.media import Item
from pcevolve.public.screen import ProgressCallback

FEW = 16
"""Number of items that are embedded, and of steps that are trained, for the measurement."""
FORWARD = 1 / 3
"""Time to classify some items, as a share of the time of a training step on as many items."""


@dataclass(frozen=True)
class JudgePace:
    """Times of one judge, in seconds.

    Attributes:
        look: Time to embed one item, using all threads.
        row: Time of a training step divided by the numbers of items and of classifiers, while every thread trains
            a classifier of its own.
    """

    look: float
    row: float

    @classmethod
    def of(cls, judge: Evaluator, items: Sequence[Item | None], classes: int) -> JudgePace:
        """Measure the times on a few items; the measurement leaves out one-time loading."""
        few = items[:FEW]
        # One item first, because loading the judge must not count.
        judge.look(few[:1])
        began = perf_counter()
        seen = judge.look(few)
        look = (perf_counter() - began) / len(few)
        usable = seen[find_usable(seen)]
        if not len(usable):
            return cls(look, 0.0)
        rows = np.resize(usable, (BATCH, *usable.shape[1:]))
        targets = np.arange(BATCH) % classes
        threads = thread_count()

        def train(most: int) -> None:
            # As many classifiers at once as later, because threads with small steps slow each other down.
            judge.predictions([[Training(rows, targets, classes, most=most)] * threads], rows[:1])

        train(1)
        began = perf_counter()
        train(FEW)
        return cls(look, (perf_counter() - began) / threads / FEW / BATCH)

    def train(self, items: int, tested: int) -> float:
        """Return the seconds that one classifier takes to train and test, while all threads train classifiers."""
        return self.row * (heads.STEPS * min(items, BATCH) + FORWARD * tested)


@dataclass
class Forecast:
    """Finished work out of all work, in seconds; reports to ``show_progress`` in milliseconds.

    ``show_progress`` is called after each hundredth of all work. Smaller steps give no reliable estimate of
    the remaining time.
    """

    show_progress: ProgressCallback
    whole: float
    done: float = field(default=0.0)
    last: float = field(default=0.0)

    def add(self, seconds: float) -> None:
        self.done = min(self.done + seconds, self.whole)
        if self.done - self.last >= self.whole / 100 or self.done == self.whole:
            self.last = self.done
            self.show_progress(round(1000 * self.done), max(1, round(1000 * self.whole)))
