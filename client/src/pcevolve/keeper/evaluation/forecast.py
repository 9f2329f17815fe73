"""Forecast the time of judging: a little of each judge's work is measured first."""

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
"""Items that are embedded, and steps that are trained, for the measurement."""
FORWARD = 1 / 3
"""Time of classifying relative to a training step on as many items."""


@dataclass(frozen=True)
class JudgePace:
    """Times of one judge, in seconds.

    Attributes:
        look: Time to embed one item, using all threads.
        row: Per item in a training step of one classifier, while each thread trains one.
    """

    look: float
    row: float

    @classmethod
    def of(cls, judge: Evaluator, items: Sequence[Item | None], classes: int) -> JudgePace:
        """Measure it on some items; one-time loading does not count."""
        few = items[:FEW]
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
            # As many at once as later: threads of small steps wait for each other.
            judge.predictions([[Training(rows, targets, classes, most=most)] * threads], rows[:1])

        train(1)
        began = perf_counter()
        train(FEW)
        return cls(look, (perf_counter() - began) / threads / FEW / BATCH)

    def train(self, items: int, tested: int) -> float:
        """Return the seconds of one classifier's training and test, with all threads on several classifiers."""
        return self.row * (heads.STEPS * min(items, BATCH) + FORWARD * tested)


@dataclass
class Forecast:
    """The work done, of all work, in seconds; ``show_progress`` gets it in milliseconds.

    It is called for each hundredth of the whole: smaller pieces give no reliable estimate of the rest.
    """

    show_progress: ProgressCallback
    whole: float
    done: float = field(default=0.0)
    last: float = field(default=0.0)

    def add(self, seconds: float) -> None:
        """Count finished work."""
        self.done = min(self.done + seconds, self.whole)
        if self.done - self.last >= self.whole / 100 or self.done == self.whole:
            self.last = self.done
            self.show_progress(round(1000 * self.done), max(1, round(1000 * self.whole)))
