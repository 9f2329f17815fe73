"""Messages between two processes of one command: lines of bounded length, with a name and a JSON value.

Only the standard library is used. The reader decides what a line means, and whether it may arrive now.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

MOST_BYTES = 128 * 2**20
"""Largest number of bytes of a line. The longest line is a measurement in base64."""


class PipeError(Exception):
    """The other process of a conversation has ended, or its message is invalid."""


class GoneError(PipeError):
    """The other process of a conversation has ended."""


class Pipe:
    """The ends of a conversation that belong to this process."""

    def __init__(self, reads: int, writes: int) -> None:
        """Take one descriptor for reading and one for writing."""
        self.descriptors: Sequence[int] = (reads, writes)
        self._reader = os.fdopen(reads, "rb")
        self._writes = writes

    def send(self, name: str, body: str = "{}") -> None:
        """Send a message (``GoneError`` if the other process has ended)."""
        rest = memoryview(f"{name} {body}\n".encode())
        try:
            while rest:
                rest = rest[os.write(self._writes, rest) :]
        except (BrokenPipeError, ConnectionResetError):
            raise GoneError from None

    def receive(self) -> tuple[str, str]:
        """Wait for a message, and return its name and its JSON text.

        Raises:
            GoneError: The other process ended, perhaps in the middle of a message.
            PipeError: The message is invalid or too long.
        """
        try:
            line = self._reader.readline(MOST_BYTES + 1)
        except ConnectionResetError:  # of a socket whose other end did not read all
            raise GoneError from None
        if len(line) > MOST_BYTES:
            raise PipeError(f"a message of more than {MOST_BYTES} bytes")
        if not line.endswith(b"\n"):
            raise GoneError
        try:
            name, _, body = line[:-1].decode().partition(" ")
        except UnicodeDecodeError:
            raise PipeError("a message that is no text") from None
        if not name.isalpha() or not body:
            raise PipeError("received a line that is not a message")
        return name, body

    def close(self) -> None:
        """Close both ends, once. The other process then gets a ``GoneError``."""
        if not self._reader.closed:
            self._reader.close()
            os.close(self._writes)


def open_conversation() -> tuple[tuple[int, int], tuple[int, int]]:
    """Make two pipes. Return, for each of two processes, the descriptors for reading and for writing."""
    (first_reads, second_writes), (second_reads, first_writes) = os.pipe(), os.pipe()
    return (first_reads, first_writes), (second_reads, second_writes)


def read_order(pipe: Pipe) -> Mapping[str, Any] | None:
    """Wait for an order, or return None if the parent closed the pipe without one."""
    try:
        _, body = pipe.receive()
    except GoneError:
        return None
    found: Mapping[str, Any] = json.loads(body)
    return found
