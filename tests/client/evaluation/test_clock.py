"""The time that an evaluation is said to take, on a clock of its own."""

from __future__ import annotations

import numpy as np
import pytest

from pcevolve.evaluation.clock import Clock, _Pace
from pcevolve.evaluation.heads import Training
from pcevolve.evaluation.judge import Judge


@pytest.mark.parametrize("slower", [0.5, 1.0, 3.0])
def test_what_is_left_is_told_at_the_pace_so_far(slower: float):
    now, told = [100.0], []
    judge = Judge("any", False, look=np.array, train=lambda training, seed: len)
    training = Training(np.zeros((40, 2)), np.zeros(40, dtype=np.int64), 1)
    clock = Clock(
        {"any": _Pace(0.1, {40: 10.0})}, 40.0, lambda done, whole: told.append((done, whole)), lambda: now[0]
    )
    now[0] += 10 * slower
    clock.count_look(judge, 100)
    for _ in range(3):
        now[0] += 10 * slower
        clock.count_training(judge, training)
    assert told == [(0, 40), *((10 * n * slower, 40 * slower) for n in (1, 2, 3, 4))]
