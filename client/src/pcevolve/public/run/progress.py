"""A run's progress for its owner, on stderr: all of it public. What is private the keeper's own screen tells."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from rich.console import Console
from rich.progress import (
    BarColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from pcevolve.public.screen import LINE_SECONDS, ProgressCallback, spell_estimate


def error_console() -> Console:
    """Return the console for progress and errors; results go to stdout."""
    return Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)


@dataclass(frozen=True)
class Progress:
    """The progress of a run; public facts alone, all of which the provider knows too.

    Attributes:
        iteration: Round that is under way; 0 while the first candidates are made.
        epsilon: Spent so far; None for a run that promises nothing.
        bill: What the provider was asked for and what that cost so far, in words.
        seconds_per_image: What one takes in this process; None while it has got none, whatever is on record already.
    """

    images: int
    total: int
    iteration: int
    iterations: int
    epsilon: float | None
    bill: str = ""
    seconds_per_image: float | None = None

    @property
    def left(self) -> str:
        """About how long the rest takes, in words; empty while nobody can say."""
        each = self.seconds_per_image
        return "" if each is None else spell_estimate(each * (self.total - self.images))


Tell: TypeAlias = Callable[[Progress], None]
"""A function that is called whenever a run has come further."""


def tell_nobody(progress: Progress) -> None:
    """Tell nobody."""


class Person(Protocol):
    """Who can be asked whether a run shall go on."""

    def is_there(self) -> bool:
        """True if somebody can answer."""
        ...

    def agrees(self, question: str) -> bool:
        """Ask a question, and return whether the answer is yes."""
        ...


class AtTerminal:
    """Whoever sits at the terminal of this process, if it has one."""

    def is_there(self) -> bool:
        """True if the input is a terminal."""
        return sys.stdin.isatty()

    def agrees(self, question: str) -> bool:
        """Ask on stderr; results go to stdout."""
        import click

        return click.confirm(question, err=True)


AT_TERMINAL: Final = AtTerminal()


@dataclass(frozen=True)
class Audience:
    """The listeners of a run, console and callback, and who answers its questions; ``verbose`` shows every fact."""

    console: Console = field(default_factory=error_console)
    tell: Tell = tell_nobody
    verbose: bool = False
    person: Person = AT_TERMINAL


@contextmanager
def show_work(console: Console, title: str) -> Iterator[ProgressCallback]:
    """Tell about one piece of long work; what ends before anybody would ask leaves no trace."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("ETA"))
    bar = Bar(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
    )
    task, said = bar.add_task(title, total=None), time.monotonic()

    def told(done: int, total: int) -> None:
        nonlocal said
        bar.update(task, completed=done, total=total)
        if not console.is_terminal and time.monotonic() - said > LINE_SECONDS:
            said = time.monotonic()
            console.print(f"{title}: {done / total:.0%}")

    with bar:
        yield told
