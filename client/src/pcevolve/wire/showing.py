"""Public output while a run is in progress: a progress bar, the first images or texts, and the live page.

``RUN/live.html`` reloads itself. It is made from the record and from progress messages. A separate thread
writes the page, at most as often as the page reloads, and uses at most a fortieth of the time, so that the
run is not slowed. Errors of the page do not stop the run.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich_pixels import Pixels

from pcevolve.public.calls import Call
from pcevolve.public.durable import write_files_durably
from pcevolve.public.figures import format_loss
from pcevolve.public.media import find_medium
from pcevolve.public.media.images.sheet import draw_strip
from pcevolve.public.pages.live import Standing, list_opening, render_live
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.processes.serving import open_in_browser
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.release import Receipt
from pcevolve.public.run.progress import Audience, Progress
from pcevolve.public.screen import LINE_SECONDS
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.words import summarise_prompts

MOST = 4
"""Number of examples per class in a terminal, where half a character is a pixel and a text has one line."""


def show_first(record: RunReader, plan: PublicPlan, console: Console) -> None:
    """Show some of the provider's first answers of each class: small pictures, or a few lines of text.

    Pictures need a terminal with colours.
    """
    has_colours = console.color_system in ("256", "truecolor")
    if not has_colours and not plan.modality.refuses_sheets:
        return
    for label, digests in list_opening(record, plan).items():
        console.print(summarise_prompts(plan.first_prompts(label)), markup=False)
        first = [record.bodies.file(each) for each in digests[:MOST]]
        if plan.modality.refuses_sheets:
            for each in first:
                text = find_medium(plan.modality.kind).show(each).text or f"(not {plan.modality.nouns.an})"
                console.print(f"  {text}", markup=False, highlight=False, no_wrap=True, overflow="ellipsis")
        else:
            console.print(Pixels.from_image(draw_strip(first, MOST, console.width)))


class RunProgress:
    """A progress bar with remaining time, or in a log a line every ten seconds; ``recorded`` calls are not counted."""

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
            TextColumn(plan.modality.nouns.many),
            TimeElapsedColumn(),
            TextColumn("ETA {task.fields[left]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=total, left="")
        self._plan, self._title, self._console, self._total = plan, title, console, total
        self._recorded, self._clock = recorded, clock
        self._done, self._made = 0, 0
        self._began = self._last = self._reported = clock()
        self._events: list[Event] = [*plan.start.events] if plan.start else []
        self._tell, self._iteration, self._bill = audience.tell, 0, bill

    @contextmanager
    def show(self) -> Iterator[RunProgress]:
        with self._bar:
            yield self

    def generated(self, call: Call) -> None:
        """Count the images of one answered call."""
        self._last = self._clock()
        self._done += call.count
        if call.slot not in self._recorded:
            self._made += call.count
        # Recorded calls take no time, so the estimate begins after them.
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
        spent = f"ε {format_loss(loss, 3)} spent" if self._plan.secure else "INSECURE"
        stage = f"{self._title}: {place}, {spent}"
        self._bar.update(self._task, completed=self._done, description=stage, left=left)
        if not self._console.is_terminal and left and self._last - self._reported > LINE_SECONDS:
            self._reported = self._last
            many = self._plan.modality.nouns.many
            self._console.print(f"{stage}: {self._done}/{self._total} {many}, {left} left")

    def released(self, receipt: Receipt) -> None:
        """Add the budget that one release spent to the progress."""
        self._events.extend(receipt.events)
        self._progress()

    def _progress(self) -> Progress:
        spent = PrivacyLoss.of(self._plan, self._events).epsilon if self._plan.secure else None
        each = (self._last - self._began) / self._made if self._made else None
        iterations = self._plan.method.iterations
        found = Progress(self._done, self._total, self._iteration, iterations, spent, self._bill(), each)
        self._tell(found)
        return found


PAUSE_SECONDS = 1.5
"""Shortest time in seconds between two writings of the page, which reloads itself as often."""
PAUSE_RATIO = 40
"""The pause is this many times as long as the last writing, which may take seconds for a long record."""
SCREENS = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"}
"""A browser can be shown if one of these variables is set."""


@dataclass(eq=False)
class LivePage:
    layout: RunLayout
    standing: Standing = field(default_factory=Standing)
    _over: threading.Event = field(default_factory=threading.Event)

    def take_in(self, progress: Progress) -> None:
        self.standing = replace(self.standing, left=progress.left, cost=progress.bill)

    def follow(self) -> None:
        """Write the page whenever record or progress have changed, until ``end`` is called."""
        written, pause = self._state, PAUSE_SECONDS
        while not self._over.wait(pause):
            if written != (state := self._state):
                started, written = time.monotonic(), state
                self.write()
                pause = max(PAUSE_SECONDS, PAUSE_RATIO * (time.monotonic() - started))

    def end(self, how: str) -> None:
        """Show how the run ended; ``follow`` writes nothing afterwards."""
        self.standing = replace(self.standing, left="", over=how)
        self._over.set()

    def write(self) -> None:
        """Write the page now; errors are ignored."""
        with suppress(Exception):
            content = render_live(RunReader.lenient(self.layout.root), self.standing)
            write_files_durably({self.layout.live: content}, timeless=True)

    @property
    def _state(self) -> tuple[int | None, Standing]:
        log = self.layout.log
        return log.stat().st_size if log.is_file() else None, self.standing


@contextmanager
def keep_live_page(layout: RunLayout, audience: Audience) -> Iterator[Audience]:
    """Keep a run's page up to date while the run is in progress, and show at the end how it ended.

    Yields:
        The audience, extended by the page.
    """
    page = LivePage(layout)
    page.write()

    def tell(progress: Progress) -> None:
        page.take_in(progress)
        audience.tell(progress)

    thread = threading.Thread(target=page.follow, name="live page", daemon=True)
    thread.start()
    how = "The run was cut off"
    try:
        yield replace(audience, tell=tell)
        how = "The run is finished"
    finally:
        page.end(how)
        thread.join()
        page.write()


def show_page(page: Path, console: Console) -> None:
    """Print the page's location, and open the page in the browser if there is a display."""
    console.print(f"this page shows the progress of the run: {page}")
    # Without a display, the standard library would open a text browser in the terminal.
    if sys.platform in ("darwin", "win32") or not SCREENS.isdisjoint(os.environ):
        open_in_browser(page.absolute().as_uri())
