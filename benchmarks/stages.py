"""Seconds of a run's parts, as its main thread passes them: functions are watched, and none counts what it calls."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Stages:
    """A clock for each part.

    Attributes:
        seconds: Wall time by part, without that of parts inside it.
        busy: Processor time of the whole process, likewise.
    """

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    busy: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _inside: list[list[float]] = field(default_factory=list)

    def watch(self, owner: Any, name: str, part: str) -> None:  # noqa: ANN401
        """Count the time of a function or method to a part from now on, wherever the main thread calls it."""
        plain = getattr(owner, name)

        def call_timed(*given: Any, **named: Any) -> Any:  # noqa: ANN401
            if threading.current_thread() is not threading.main_thread():
                return plain(*given, **named)
            began, worked = time.perf_counter(), time.process_time()
            self._inside.append([0.0, 0.0])
            try:
                return plain(*given, **named)
            finally:
                passed, work = time.perf_counter() - began, time.process_time() - worked
                inner = self._inside.pop()
                self.seconds[part] += passed - inner[0]
                self.busy[part] += work - inner[1]
                if self._inside:
                    self._inside[-1][0] += passed
                    self._inside[-1][1] += work

        setattr(owner, name, call_timed)
