"""How far the indexing of a library is, and when it will be done: a bar on a terminal, lines in a log elsewhere."""

import logging
import sys
import time

logger = logging.getLogger(__name__)

_LOG_SECONDS, _BAR_SECONDS = 10, 0.2
_WIDTH = 30  # characters


class Progress:
    """Tells about a number of equal steps."""

    def __init__(self, total: int, done: int) -> None:
        """Begin.

        Args:
            total: Steps.
            done: Steps that an earlier start has left behind; they say nothing about the pace.
        """
        self._total, self._begun_with, self._done = total, done, done
        self._started = self._told = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def advance(self, steps: int) -> None:
        """Note that so many steps were made; says so from time to time."""
        self._done += steps
        now = time.monotonic()
        if now - self._told >= (_BAR_SECONDS if self._terminal else _LOG_SECONDS):
            self._told = now
            self._tell(now)

    def finish(self) -> None:
        """End the bar's line."""
        if self._terminal and self._done > self._begun_with:
            self._tell(time.monotonic())
            sys.stderr.write("\n")

    def _tell(self, now: float) -> None:
        made = self._done - self._begun_with
        left = round((now - self._started) / made * (self._total - self._done)) if made else None
        if self._terminal:
            filled = _WIDTH * self._done // self._total
            until = "" if left is None else f", {left // 60}:{left % 60:02d} left"
            bar = "█" * filled + " " * (_WIDTH - filled)
            sys.stderr.write(f"\rindexing |{bar}| {self._done}/{self._total}{until}  ")
            sys.stderr.flush()
        else:
            facts = {"images": self._done, "images_in_all": self._total, "seconds_left": left}
            logger.info("indexing the library", extra=facts)
