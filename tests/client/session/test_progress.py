"""What the owner is told about time, and how fast the rest will be."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pcevolve.session.progress import Audience, Progress, RunProgress, duration, padding_kept
from support.runs import small_plan


def test_work_as_long_as_expected_is_no_reason_to_warn():
    assert "WARNING" in padding_kept(20.0, 1.0)
    assert "WARNING" not in padding_kept(20.0, 30.0)


class Clock:
    """Seconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.now = 5000.0

    def __call__(self) -> float:
        return self.now


def watched(
    recorded: int, terminal: bool, **plan: object
) -> tuple[RunProgress, list, Clock, io.StringIO, list]:
    """Progress of a small run of which the first calls are on record; its calls, its clock, and what is told."""
    made, clock, told, screen = small_plan(**plan), Clock(), [], io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=200, soft_wrap=True)
    calls = list(made.calls.values())
    known = {call.slot for call in calls[:recorded]}
    progress = RunProgress(made, "random", Audience(console, told.append), lambda: "", known, clock)
    return progress, calls, clock, screen, told


@pytest.mark.parametrize(
    "plan", [{}, {"dialect": "chat", "modality": {"kind": "text", "tokens": 9, "temperature": 1}}]
)
def test_what_was_on_record_before_says_nothing_about_the_time_that_is_left(plan: dict[str, object]):
    progress, calls, clock, screen, told = watched(recorded=6, terminal=False, **plan)
    total, replayed = sum(call.count for call in calls), sum(call.count for call in calls[:6])
    for call in calls[:6]:
        clock.now += 2.0  # what is on record has to be read, and private data are looked at again
        progress.generated(call)
        assert (told[-1].seconds_per_image, told[-1].left) == (None, "")
    clock.now += 100.0 * calls[6].count
    progress.generated(calls[6])
    assert told[-1].images == replayed + calls[6].count
    assert told[-1].seconds_per_image == 100.0
    rest = total - told[-1].images
    assert told[-1].left == f"about {round(rest * 100 / 60)} min"
    kind = "texts" if plan else "images"
    assert f"{told[-1].images}/{total} {kind}, about {round(rest * 100 / 60)} min left" in screen.getvalue()


def test_the_bar_of_a_resumed_run_shows_the_pace_of_this_process():
    progress, calls, clock, screen, _ = watched(recorded=6, terminal=True)
    with progress.shown():
        for call in calls[:6]:
            progress.generated(call)
        progress._bar.refresh()
        assert "ETA about" not in screen.getvalue()
        clock.now += 7200.0 * calls[6].count
        progress.generated(calls[6])
    rest = sum(call.count for call in calls[7:])
    assert f"ETA about {rest * 2:.1f} h" in screen.getvalue()


def test_answers_on_record_that_come_between_others_are_not_counted_as_made():
    progress, calls, clock, _, told = watched(recorded=0, terminal=False)
    progress._recorded = {calls[1].slot}  # several were under way at once when the run was cut off
    for call in calls[:3]:
        clock.now += 30.0
        progress.generated(call)
    assert told[-1].seconds_per_image == 90.0 / (calls[0].count + calls[2].count)


@pytest.mark.parametrize(
    ("seconds", "said"), [(3, "less than a minute"), (119, "about 2 min"), (5400, "about 1.5 h")]
)
def test_a_duration_in_words(seconds: float, said: str):
    assert duration(seconds) == said


def test_nobody_can_say_how_long_the_rest_takes_before_anything_was_made():
    assert Progress(1000, 2000, 0, 2, 0.0).left == ""
    assert Progress(1100, 2000, 0, 2, 0.0, seconds_per_image=0.6).left == "about 9 min"


@pytest.mark.parametrize(
    ("longest", "warned"), [(4.95, False), (5.0, False), (5.05, True), (9.9, True), (11.0, True)]
)
def test_the_owner_is_warned_as_soon_as_private_work_takes_more_than_its_tick(longest, warned):
    said = padding_kept(longest, 5.0)
    assert said.startswith("WARNING") is warned
    assert ("the provider saw that it was more" in said) is warned


def test_the_warning_names_a_tick_that_is_half_as_long_again():
    assert "--set privacy.pad_selection=9 next time" in padding_kept(6.0, 5.0)
