"""When requests leave: no sooner after an answer than the owner wants."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from pcevolve.wire.egress.pace import Pace, Ready, RequestWindow
from support.clock import Clock


@pytest.mark.parametrize(("took", "passes"), [(0.125, 0.5), (0.75, 0.75)])
def test_a_request_leaves_no_sooner_after_an_answer_than_the_gap_says(took, passes):
    clock = Clock()
    pace = Pace(0.5, clock, clock.sleep)
    pace.note_answer()
    clock.now += took
    pace.wait_before_request()
    assert clock.now - 100.0 == pytest.approx(passes)


def test_the_first_request_of_a_process_leaves_at_once():
    clock = Clock()
    Pace(5.0, clock, clock.sleep).wait_before_request()
    assert clock.now == 100.0


def open_window(most: int, abandoned: list[str] | None = None) -> RequestWindow:
    return RequestWindow(most, lambda: (abandoned if abandoned is not None else []).append("abandoned"))


def run_window(window: RequestWindow, waits: list[Callable[[], str]]) -> list[str]:
    """Let everything begin at once, and return the answers in the order in which they were told."""
    return list(window.answers(waits, lambda _: True, lambda wait: wait, lambda _, brought: brought))


@pytest.mark.parametrize("most", [1, 3])
def test_answers_are_told_in_the_order_of_the_questions_and_no_more_are_under_way_than_allowed(most: int):
    lock, under_way, peaks = threading.Lock(), [], []

    def wait(name: str, seconds: float) -> str:
        with lock:
            under_way.append(name)
            peaks.append(len(under_way))
        time.sleep(seconds)
        with lock:
            under_way.remove(name)
        return name

    waits = [lambda name=name: wait(name, 0.05 if name == "a" else 0.01) for name in "abcdef"]
    assert run_window(open_window(most), waits) == list("abcdef")
    assert max(peaks) == most


def test_what_has_to_be_waited_for_by_nobody_is_told_in_its_place():
    for most in (1, 2):
        told = open_window(most).answers(
            [1, 2, 3],
            lambda _: True,
            lambda each: Ready(each) if each == 2 else lambda: each,
            lambda _, got: -got,
        )
        assert list(told) == [-1, 2, -3]


def test_what_may_not_begin_beside_another_begins_once_nothing_is_under_way():
    under_way: list[str] = []

    def wait(name: str) -> str:
        time.sleep(0.01)
        under_way.remove(name)
        return name

    def begin(name: str) -> Callable[[], str]:
        under_way.append(name)
        assert len(under_way) == 1
        return lambda: wait(name)

    told = open_window(4).answers("abc", lambda _: False, begin, lambda _, brought: brought)
    assert list(told) == ["a", "b", "c"]


def test_a_failure_ends_the_pauses_of_the_others_whose_answers_are_waited_for_and_the_next_round_pauses_again():
    abandoned: list[str] = []
    window, ended = open_window(2, abandoned), []

    def retry() -> str:
        window.pause(60)
        ended.append("retried")
        return "late"

    def fail() -> str:
        raise ConnectionError("refused")

    began = time.monotonic()
    with pytest.raises(ConnectionError, match="refused"):
        run_window(window, [fail, retry])
    assert time.monotonic() - began < 30
    assert (ended, abandoned) == (["retried"], [])
    assert run_window(window, [lambda: str(window.stopping.is_set())] * 2) == ["False", "False"]


def test_ctrl_c_gives_up_what_is_under_way():
    abandoned: list[str] = []
    answers = open_window(2, abandoned).answers(
        ["a", "b"], lambda _: True, lambda each: lambda: each, lambda _, brought: brought
    )
    next(answers)
    with pytest.raises(KeyboardInterrupt):
        answers.throw(KeyboardInterrupt())
    assert abandoned == ["abandoned"]
