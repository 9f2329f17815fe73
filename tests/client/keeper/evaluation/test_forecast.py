"""The forecast of an evaluation: in time, by what a little of each judge's work took."""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Lock

import numpy as np
import pytest

from pcevolve.keeper.evaluation import forecast, judge
from pcevolve.keeper.evaluation.forecast import Forecast, JudgePace
from pcevolve.keeper.evaluation.heads import Predict, Training
from pcevolve.keeper.evaluation.judge import Evaluator
from pcevolve.public.encoders.singly import thread_count

LOOK, STEP, LOAD = 0.004, 0.008, 0.2


def slow_judge() -> Evaluator:
    """It sleeps for each item and each step, and at first for what it loads."""
    loaded = []

    def look(items: Sequence[object]) -> np.ndarray:
        if not loaded:
            time.sleep(LOAD)
            loaded.append(True)
        time.sleep(LOOK * len(items))
        return np.ones((len(items), 3))

    def train(on: Training, seed: int) -> Predict:
        for _ in range(400 if on.most is None else on.most):
            time.sleep(STEP)
        return lambda features: np.zeros(len(features), dtype=np.int64)

    return Evaluator("slow", False, look, train)


def test_a_pace_is_what_an_item_and_a_step_take_without_what_is_loaded_once():
    pace = JudgePace.of(slow_judge(), [None] * 100, 2)
    assert LOOK <= pace.look < LOOK + LOAD / 16
    assert 64 * pace.row * thread_count() >= STEP


def test_a_small_set_is_trained_on_in_less_time():
    pace = JudgePace(0.0, 0.001)
    assert pace.train(64, 0) == pytest.approx(25.6)
    assert pace.train(640, 0) == pytest.approx(25.6)
    assert pace.train(16, 0) == pytest.approx(6.4)
    assert pace.train(64, 3000) == pytest.approx(26.6)


def test_classifiers_whose_threads_wait_for_each_other_are_forecast_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
):
    for module in (forecast, judge):
        monkeypatch.setattr(module, "thread_count", lambda: 4)
    alone = Lock()

    def train(on: Training, seed: int) -> Predict:
        for _ in range(400 if on.most is None else on.most):
            with alone:
                time.sleep(STEP)
        return lambda features: np.zeros(len(features), dtype=np.int64)

    slow = Evaluator("alone", False, lambda items: np.ones((len(items), 3)), train)
    assert JudgePace.of(slow, [None] * 100, 2).train(64, 0) >= 400 * STEP


def test_a_judge_that_can_use_nothing_trains_in_no_time():
    judge = Evaluator("blind", False, lambda items: np.full((len(items), 3), np.nan), lambda on, seed: None)
    assert JudgePace.of(judge, [None] * 3, 2).row == 0


def test_it_never_tells_more_than_all():
    told: list[tuple[int, int]] = []
    found = Forecast(lambda done, whole: told.append((done, whole)), 2.0)
    for _ in range(3):
        found.add(0.9)
    assert told == [(900, 2000), (1800, 2000), (2000, 2000)]
    found = Forecast(lambda done, whole: told.append((done, whole)), 100.0)
    for _ in range(4):
        found.add(0.5)
    assert told[3:] == [(1000, 100_000), (2000, 100_000)], "pieces of less than a hundredth are told together"
    Forecast(lambda done, whole: told.append((done, whole)), 0.0).add(1.0)
    assert told[-1] == (0, 1), "nobody divides by nothing"
