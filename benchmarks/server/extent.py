"""The servers and loads that are measured."""

from __future__ import annotations

from dataclasses import dataclass

_TWO = ("--engine", "processes", "--replicas", "2", "--threads", "1")

DEFAULT, COMPILED, TWO_PROCESSES = "exact", "exact, compiled", "exact, 2 processes"
SERVERS: dict[str, tuple[int, tuple[str, ...]]] = {
    DEFAULT: (1, ("--threads", "1")),
    "merge": (1, ("--threads", "1", "--batching", "merge")),
    TWO_PROCESSES: (1, _TWO),
    COMPILED: (1, ("--threads", "1", "--compile")),
    "exact, 2 processes, compiled": (1, (*_TWO, "--compile")),
    "exact, 2 threads": (2, ("--threads", "2")),
    "merge, 2 threads": (2, ("--threads", "2", "--batching", "merge")),
}
"""Servers by their name: threads of the pipeline that they are compared with, and options."""


@dataclass(frozen=True)
class Extent:
    """How much is measured in a turn.

    Attributes:
        servers: Names of :data:`SERVERS`.
        clients: How many images all clients together ask for, by how many clients there are.
        batches: Of the pipeline: 1, that of the exact server, and others among which the best is looked for.
    """

    servers: tuple[str, ...]
    clients: dict[int, int]
    batches: tuple[int, ...]


FULL = Extent(tuple(SERVERS), {1: 6, 8: 48, 32: 192, 64: 192}, (1, 16, 32, 64))
TINY = Extent((DEFAULT,), {2: 4}, (1, 32))
SHORT = Extent((DEFAULT,), {1: 16, 8: 64, 32: 160}, (1, 16, 32, 64))
