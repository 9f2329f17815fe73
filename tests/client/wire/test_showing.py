"""The first of each class at a terminal: pictures where it has the colours for them, and texts a line each."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.showing import show_first


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
