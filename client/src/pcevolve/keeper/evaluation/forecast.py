"""How far judging is, in time: a little of each judge's work is done first, and says how long all of it takes."""

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
"""Items that are looked at, and steps that are trained, to see how long one takes."""
FORWARD = 1 / 3
"""Of a step's time what it takes to classify as many items; the rest is learning from them."""


@dataclass(frozen=True)
class JudgePace:
    """Seconds of one judge.

    Attributes:
        look: For an item, all threads at it.
        row: For an item in a step of training, one thread at it.
    """

    look: float
    row: float

    @classmethod
    def of(cls, judge: Evaluator, items: Sequence[Item | None], classes: int) -> JudgePace:
        """Measure it on some items; what is only loaded once does not count."""
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
        judge.train(Training(rows, targets, classes, most=1), 0)
        began = perf_counter()
        judge.train(Training(rows, targets, classes, most=FEW), 0)
        return cls(look, (perf_counter() - began) / FEW / BATCH)

    def train(self, items: int, tested: int) -> float:
        """Seconds for one classifier on so many items and its word on those it is tested on, all threads at several."""
        return self.row * (heads.STEPS * min(items, BATCH) + FORWARD * tested) / thread_count()


@dataclass
class Forecast:
    """Work that is done, of all that there is, in seconds; ``told`` hears of it in milliseconds.

    It hears of each hundredth of all: of smaller pieces nobody can say how long the rest takes.
    """

    told: ProgressCallback
    whole: float
    done: float = field(default=0.0)
    last: float = field(default=0.0)

    def add(self, seconds: float) -> None:
        """Count work that is done."""
        self.done = min(self.done + seconds, self.whole)
        if self.done - self.last >= self.whole / 100 or self.done == self.whole:
            self.last = self.done
            self.told(round(1000 * self.done), max(1, round(1000 * self.whole)))
