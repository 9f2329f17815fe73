"""What a terminal shows of a run: the first of each class, and a bar with the time that is left."""

from __future__ import annotations

import io
from io import StringIO

import pytest
from rich.console import Console

from pcevolve.public.run.progress import Audience
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.showing import RunProgress, show_first
from support.runs import small_plan


def shown(run: RunReader, **of_console: object) -> str:
    out = StringIO()
    show_first(run, run.plan, Console(file=out, width=100, **of_console))
    return out.getvalue()


def test_pictures_are_for_terminals_with_colours(world, tmp_path):
    world("getimg").open(tmp_path).finish()
    run = RunReader.strict(tmp_path)
    assert shown(run) == ""
    said = shown(run, force_terminal=True, color_system="truecolor")
    assert "\N{LOWER HALF BLOCK}" in said or "\N{UPPER HALF BLOCK}" in said
    assert all(label in said for label in run.plan.labels)


def test_texts_are_a_line_each_under_their_prompt(world, tmp_path):
    world("chat").open(tmp_path).finish()
    run = RunReader.strict(tmp_path)
    lines = shown(run).splitlines()
    assert sum(not line.startswith("  ") for line in lines) == len(run.plan.labels)
    assert 1 <= sum(line.startswith("  ") for line in lines) <= 4 * len(run.plan.labels)


@pytest.mark.parametrize(
    "plan", [{}, {"dialect": "chat", "modality": {"kind": "text", "tokens": 9, "temperature": 1}}]
)
def test_what_was_on_record_before_says_nothing_about_the_time_that_is_left(plan: dict[str, object]):
    made, now, told, screen = small_plan(**plan), [5000.0], [], io.StringIO()
    calls = list(made.calls.values())
    recorded = frozenset(call.slot for call in calls[:6])
    console = Console(file=screen, force_terminal=False, width=200, soft_wrap=True)
    progress = RunProgress(made, "random", Audience(console, told.append), str, recorded, lambda: now[0])
    for call in calls[:6]:
        now[0] += 2.0  # what is on record has to be read, and private data are looked at again
        progress.generated(call)
        assert (told[-1].seconds_per_image, told[-1].left) == (None, "")
    now[0] += 100.0 * calls[6].count
    progress.generated(calls[6])
    assert told[-1].images == sum(call.count for call in calls[:7])
    assert told[-1].seconds_per_image == 100.0
    total = sum(call.count for call in calls)
    left = f"about {round((total - told[-1].images) * 100 / 60)} min"
    assert told[-1].left == left
    assert f"{told[-1].images}/{total} {'texts' if plan else 'images'}, {left} left" in screen.getvalue()
