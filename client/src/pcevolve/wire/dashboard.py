"""``RUN/live.html``: a page that shows a run's progress, and reloads itself.

It is made from the record and from the progress messages, both public. Its own thread writes it at most twice
a second and in at most a twentieth of the time, so that it does not slow the run. Errors of the page do not
stop the run.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from pcevolve.public.durable import write_files_durably
from pcevolve.public.pages.live import Standing, render_live
from pcevolve.public.processes.browser import open_in_browser
from pcevolve.public.run.progress import Audience, Progress
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import RunReader

PAUSE_SECONDS = 0.5
"""Least time between two writings of the page."""
PAUSE_RATIO = 20
"""The pause is this many times as long as the last writing, which takes seconds for long records with large images."""
SCREENS = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"}
"""A browser can be shown if one of these variables is set."""


@dataclass(eq=False)
class LivePage:
    """The page of one run, with its progress."""

    layout: RunLayout
    standing: Standing = field(default_factory=Standing)
    _over: threading.Event = field(default_factory=threading.Event)

    def take_in(self, progress: Progress) -> None:
        """Take in a progress message."""
        self.standing = replace(self.standing, left=progress.left, cost=progress.bill)

    def follow(self) -> None:
        """Write the page whenever record or progress have changed, until ``end``."""
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
    """Keep a run's page up to date while the run goes on, and show on it how the run ended.

    Yields:
        The audience, which now includes the page.
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
    """Print where a page is, and open it in the browser if there is a screen."""
    console.print(f"this page shows the run: {page}")
    # Without a screen the standard library would open a browser for terminals.
    if sys.platform in ("darwin", "win32") or not SCREENS.isdisjoint(os.environ):
        open_in_browser(page.absolute().as_uri())
