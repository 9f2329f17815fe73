"""A run's progress for its owner, on stderr: all of it public. What is private the keeper's own screen tells."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from pcevolve.public.calls import Call
from pcevolve.public.figures import format_loss
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.release import Receipt
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
    """Who is told of a run, by console and callback, and who is asked; ``verbose``: told of every fact."""

    console: Console = field(default_factory=error_console)
    tell: Tell = tell_nobody
    verbose: bool = False
    person: Person = AT_TERMINAL


class RunProgress:
    """A progress bar with ETA, or in a log file a line every ten seconds; ``recorded`` calls tell nothing."""

    def __init__(
        self,
        plan: PublicPlan,
        title: str,
        audience: Audience,
        bill: Callable[[], str] = str,
        recorded: AbstractSet[str] = frozenset(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        console = audience.console
        total = sum(call.count for call in plan.calls.values())
        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(f"{plan.modality.kind}s"),
            TimeElapsedColumn(),
            TextColumn("ETA {task.fields[left]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=total, left="")
        self._plan, self._title, self._console, self._total = plan, title, console, total
        self._recorded, self._clock = recorded, clock
        self._done, self._made = 0, 0
        self._began = self._last = self._said = clock()
        self._events: list[Event] = [*plan.start.events] if plan.start else []
        self._tell, self._iteration, self._bill = audience.tell, 0, bill

    @contextmanager
    def show(self) -> Iterator[RunProgress]:
        """Show the bar while the work goes on."""
        with self._bar:
            yield self

    def generated(self, call: Call) -> None:
        """Count the images of one call that the API answered."""
        self._last = self._clock()
        self._done += call.count
        if call.slot not in self._recorded:
            self._made += call.count
        elif not self._made:
            self._began = self._last
        self._iteration = min(call.iteration, self._plan.method.iterations)
        left = self._progress().left
        place = (
            f"iteration {self._iteration}/{self._plan.method.iterations}"
            if self._plan.method.iterations
            else "candidates"
        )
        loss = PrivacyLoss.of(self._plan, self._events).epsilon
        told = f"ε {format_loss(loss, 3)} spent" if self._plan.secure else "INSECURE"
        stage = f"{self._title}: {place}, {told}"
        self._bar.update(self._task, completed=self._done, description=stage, left=left)
        if not self._console.is_terminal and left and self._last - self._said > LINE_SECONDS:
            self._said = self._last
            kind = self._plan.modality.kind
            self._console.print(f"{stage}: {self._done}/{self._total} {kind}s, {left} left")

    def released(self, receipt: Receipt) -> None:
        """Count what one release spent."""
        self._events.extend(receipt.events)
        self._progress()

    def _progress(self) -> Progress:
        spent = PrivacyLoss.of(self._plan, self._events).epsilon if self._plan.secure else None
        each = (self._last - self._began) / self._made if self._made else None
        iterations = self._plan.method.iterations
        found = Progress(self._done, self._total, self._iteration, iterations, spent, self._bill(), each)
        self._tell(found)
        return found


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
