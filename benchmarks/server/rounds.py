"""Measures a server and, just before it, the pipeline; keeps what was measured."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import pcevolve_server
import pcevolve_shared
from benchmarks.server.served import VERBS, Server, serving

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


FULL = Extent(tuple(SERVERS), {1: 6, 8: 48, 32: 192, 64: 192}, (1, 8, 16, 32, 64))
TINY = Extent((DEFAULT,), {2: 4}, (1, 32))
SHORT = Extent((DEFAULT,), {1: 16, 8: 64, 32: 160}, (1, 8, 16, 32, 64))


@dataclass(frozen=True)
class Round:
    """One server in one turn, and the pipeline just before it.

    Attributes:
        turn: From 1.
        server: A name of ``SERVERS``.
        raw: Processor seconds of an image by verb and by images in a batch.
        cells: What each load cost, as of ``Cell``, by verb and by clients.
    """

    turn: int
    server: str
    raw: dict[str, dict[int, float]]
    cells: dict[str, dict[int, dict[str, float]]]


@dataclass(frozen=True)
class Journal:
    """A file with a line of JSON for each round that was measured.

    Attributes:
        path: Of the file.
        machine: On which is measured, as of :func:`machine`.
        code: What is measured, as of :func:`code`.
    """

    path: Path
    machine: str
    code: str

    def complete(self, extent: Extent, turns: int) -> list[Round]:
        """Return all rounds, having measured and kept those that are missing."""
        found = {(each.turn, each.server): each for each in self._read(extent)}
        wanted = [(turn, server) for turn in range(1, turns + 1) for server in extent.servers]
        for place, (turn, server) in enumerate(wanted, start=1):
            if (turn, server) not in found:
                print(f"{place} of {len(wanted)}: {server}, turn {turn} of {turns}", file=sys.stderr)
                found[turn, server] = measure(turn, server, extent)
                self._keep(found[turn, server], extent)
        return [found[each] for each in wanted]

    def finish(self, extent: Extent) -> None:
        """Drop this machine's rounds of an extent, of whatever code; without any others the file goes."""
        where = {"machine": self.machine, "extent": repr(extent)}
        others = [line for line in self._lines() if not where.items() <= line.items()]
        if others:
            self.path.write_text("".join(json.dumps(line) + "\n" for line in others))
        else:
            self.path.unlink(missing_ok=True)

    def _read(self, extent: Extent) -> list[Round]:
        state = self._state(extent)
        return [_read(line) for line in self._lines() if state.items() <= line.items()]

    def _keep(self, one: Round, extent: Extent) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({**self._state(extent), **asdict(one)}) + "\n")

    def _state(self, extent: Extent) -> dict[str, object]:
        """Return all that has to be the same for a round to be of use."""
        return {"machine": self.machine, "code": self.code, "extent": repr(extent)}

    def _lines(self) -> list[dict[str, object]]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines()]


def _read(line: dict[str, object]) -> Round:
    """JSON has strings for keys where there were numbers."""
    one = Round(**{each.name: line[each.name] for each in fields(Round)})  # type: ignore[arg-type]
    return Round(
        one.turn,
        one.server,
        {verb: {int(batch): seconds for batch, seconds in raw.items()} for verb, raw in one.raw.items()},
        {verb: {int(clients): cell for clients, cell in cells.items()} for verb, cells in one.cells.items()},
    )


def measure(turn: int, server: str, extent: Extent) -> Round:
    """The pipeline, then the server, with as many threads."""
    from benchmarks.server.raw import measure

    threads, options = SERVERS[server]
    raw = {verb: {batch: measure(verb, batch, threads) for batch in extent.batches} for verb in VERBS}
    with serving(options) as running:
        cells = {verb: _loads(running, verb, extent) for verb in VERBS}
    return Round(turn, server, raw, cells)


def _loads(running: Server, verb: str, extent: Extent) -> dict[int, dict[str, float]]:
    running.put_under_load(verb, 2, 2)  # the first runs choose kernels
    return {
        clients: asdict(running.put_under_load(verb, clients, images))
        for clients, images in extent.clients.items()
    }


def code() -> str:
    """A digest of the sources of the server, of what it shares with the client and of this benchmark."""
    folders = (pcevolve_server.__path__[0], pcevolve_shared.__path__[0], Path(__file__).parent)
    files = (file for folder in folders for file in sorted(Path(folder).rglob("*.py")))
    sources = (hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    return hashlib.sha256("/".join(sources).encode()).hexdigest()[:16]


def machine() -> str:
    """The processor, in words."""
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    name = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )
    units = "with AMX" if torch.cpu.get_capabilities().get("amx_bf16") else "without AMX"
    return f"{os.cpu_count()} cores of {name} {units}"
