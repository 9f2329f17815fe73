"""A last moment for each exchange: timeouts per read let a server that sends a byte a second go on for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet

_OPENED = ("connect_tcp.complete", "start_tls.complete")


class Deadline:
    """Cuts connections that are still busy when time is up; whatever blocks on them then ends."""

    def __init__(self) -> None:
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self.passed = self.running = False

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Give what happens inside this long; ``passed`` says afterwards whether it was too short."""
        self.passed, self.running = False, True
        timer = threading.Timer(seconds, self.cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self.running = False

    def trace(self, event: str, given: dict[str, Any]) -> None:
        """Httpx's ``trace`` extension: take note of each connection that is made."""
        if event.endswith(_OPENED):
            self._sockets.add(given["return_value"].get_extra_info("socket"))
            if self.passed:
                self.cut()

    def cut(self) -> None:
        """End every connection now; whatever blocks on one then ends."""
        self.passed = True
        for each in list(self._sockets):
            with suppress(OSError):  # closed already
                socket.socket.shutdown(each, socket.SHUT_RDWR)  # TLS would take its layer off first
