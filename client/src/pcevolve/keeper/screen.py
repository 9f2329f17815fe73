"""The owner's screen, on stderr, for processes with private data; it uses the standard library alone.

At a terminal, which only the owner sees, private work shows the items done and the time left. A log may be
kept, so it shows percentages alone: numbers and times would reveal how many private images there are.
"""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pcevolve.errors import blank_out
from pcevolve.public.screen import (
    LINE_SECONDS,
    TITLE_WIDTH,
    Fact,
    ProgressCallback,
    choose_lines,
    spell_estimate,
)

NARROWEST = 20
"""Least width of a text beside its title, in columns, even if the terminal is narrower."""
_ERASE = "\r\x1b[K"
_SHOWN_EVERY = 0.1  # seconds


@dataclass(frozen=True)
class OwnerScreen:
    """The owner's screen.

    Attributes:
        verbose: Whether to show every fact.
        quiet: Whether to show nothing.
    """

    verbose: bool = False
    quiet: bool = False

    @property
    def is_terminal(self) -> bool:
        """True if output goes to a person and is not kept; ``TTY_COMPATIBLE`` overrides that with 0 or 1."""
        setting = os.environ.get("TTY_COMPATIBLE")  # as the runner's console reads it
        return not self.quiet and (setting == "1" if setting in ("0", "1") else sys.stderr.isatty())

    def print(self, *lines: str) -> None:
        for line in lines if not self.quiet else ():
            # File names are foreign text, which must not control the terminal.
            print(*map(blank_out, line.split("\n")), sep="\n", file=sys.stderr, flush=True)

    def print_facts(self, facts: Iterable[Fact]) -> None:
        """Print facts, each with its title; long facts are wrapped."""
        lines = choose_lines(facts, self.verbose)
        across = max([TITLE_WIDTH, *(len(title) for title, _ in lines)])
        for title, text in lines:
            for number, part in enumerate(_fold(text, _count_columns() - across - 1)):
                self.print(f"{'' if number else title:<{across}} {part}")

    @contextmanager
    def show_work(self, title: str) -> Iterator[ProgressCallback]:
        """Show the progress of one long task; after a short task the screen is unchanged."""
        began = latest = time.monotonic()

        def show_progress(done: int, total: int) -> None:
            nonlocal latest
            now = time.monotonic()
            if self.is_terminal and now - latest > _SHOWN_EVERY:
                left = spell_estimate((now - began) / done * (total - done)) if done else ""
                print(f"{_ERASE}{title}: {done}/{total}, {left} left", end="", file=sys.stderr, flush=True)
                latest = now
            # A percentage alone, because a log may be kept, and counts are private.
            elif not self.is_terminal and now - latest > LINE_SECONDS:
                self.print(f"{title}: {done / total:.0%}")
                latest = now

        try:
            yield show_progress
        finally:
            if self.is_terminal and latest > began:
                print(_ERASE, end="", file=sys.stderr, flush=True)


def _fold(text: str, columns: int) -> list[str]:
    """Wrap a text to the screen's width; return at least one line."""
    width = max(columns, NARROWEST)
    return [
        part
        for line in text.split("\n")
        for part in textwrap.wrap(line, width, break_on_hyphens=False) or [""]
    ]


def _count_columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):  # not a terminal
        return int(os.environ.get("COLUMNS") or 80)
