"""A run's progress for its owner, on stderr.

Everything here is public. The keeper shows the progress of private work, on its own screen alone.

>>> Progress(images=30, total=90, iteration=1, iterations=3, epsilon=3.5, seconds_per_image=2.0).left
'about 2 min'
"""

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
    """The progress of a run, in public facts that the provider also knows.

    Attributes:
        iteration: Current round; 0 while the first candidates are made.
        epsilon: ε spent so far; None for a run without a privacy guarantee.
        bill: Requests and cost so far, in words.
        seconds_per_image: Measured in this process; None before this process's first image, even in a resumed run.
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
        """Estimated time left, in words; empty if it cannot be estimated yet."""
        each = self.seconds_per_image
        return "" if each is None else spell_estimate(each * (self.total - self.images))


Tell: TypeAlias = Callable[[Progress], None]
"""A callback for a run's progress."""


def tell_nobody(progress: Progress) -> None:
    """Ignore the progress."""


class Person(Protocol):
    """A person who can be asked whether a run should continue."""

    def is_there(self) -> bool:
        """True if a person can answer."""
        ...

    def agrees(self, question: str) -> bool:
        """Ask a question; return True for yes."""
        ...


class AtTerminal:
    """The user at this process's terminal, if there is one."""

    def is_there(self) -> bool:
        """True if stdin is a terminal."""
        return sys.stdin.isatty()

    def agrees(self, question: str) -> bool:
        """Ask on stderr, because results go to stdout."""
        import click

        return click.confirm(question, err=True)


AT_TERMINAL: Final = AtTerminal()


@dataclass(frozen=True)
class Audience:
    """Console, progress callback and person of a run; ``verbose`` shows every fact."""

    console: Console = field(default_factory=error_console)
    tell: Tell = tell_nobody
    verbose: bool = False
    person: Person = AT_TERMINAL


@contextmanager
def show_work(console: Console, title: str) -> Iterator[ProgressCallback]:
    """Show a progress bar for one long task. The bar disappears when the task ends."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("ETA"))
    bar = Bar(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
    )
    task, latest = bar.add_task(title, total=None), time.monotonic()

    def show_progress(done: int, total: int) -> None:
        nonlocal latest
        bar.update(task, completed=done, total=total)
        if not console.is_terminal and time.monotonic() - latest > LINE_SECONDS:
            latest = time.monotonic()
            console.print(f"{title}: {done / total:.0%}")

    with bar:
        yield show_progress


def tell_training_time(console: Console, seconds: float) -> None:
    """Print an estimate of the time for training all classifiers, before the first one is trained."""
    console.print(f"training classifiers will take {spell_estimate(seconds)}")
