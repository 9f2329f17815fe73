"""Measures a server and, just before it, the pipeline; keeps what was measured."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.server.extent import SERVERS, Extent
from benchmarks.server.served import VERBS, Server, serving


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
    """A file with a line of JSON for each round that was measured on a machine."""

    path: Path
    machine: str

    def completed(self, extent: Extent, turns: int) -> list[Round]:
        """Return all rounds, having measured and kept those that are missing."""
        found = {(each.turn, each.server): each for each in self._kept()}
        wanted = [(turn, server) for turn in range(1, turns + 1) for server in extent.servers]
        for place, (turn, server) in enumerate(wanted, start=1):
            if (turn, server) not in found:
                print(f"{place} of {len(wanted)}: {server}, turn {turn} of {turns}", file=sys.stderr)
                found[turn, server] = measured(turn, server, extent)
                self._keep(found[turn, server])
        return [found[each] for each in wanted]

    def _kept(self) -> list[Round]:
        if not self.path.exists():
            return []
        lines = [json.loads(line) for line in self.path.read_text().splitlines()]
        return [_read(line) for line in lines if line.pop("machine") == self.machine]

    def _keep(self, one: Round) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({"machine": self.machine, **asdict(one)}) + "\n")


def _read(line: dict[str, object]) -> Round:
    """JSON has strings for keys where there were numbers."""
    one = Round(**line)  # type: ignore[arg-type]
    return Round(
        one.turn,
        one.server,
        {verb: {int(batch): seconds for batch, seconds in raw.items()} for verb, raw in one.raw.items()},
        {verb: {int(clients): cell for clients, cell in cells.items()} for verb, cells in one.cells.items()},
    )


def measured(turn: int, server: str, extent: Extent) -> Round:
    """The pipeline, then the server, with as many threads."""
    from benchmarks.server.raw import taken

    threads, options = SERVERS[server]
    raw = {verb: {batch: taken(verb, batch, threads) for batch in extent.batches} for verb in VERBS}
    with serving(options) as running:
        cells = {verb: _loads(running, verb, extent) for verb in VERBS}
    return Round(turn, server, raw, cells)


def _loads(running: Server, verb: str, extent: Extent) -> dict[int, dict[str, float]]:
    running.loaded(verb, 2, 2)  # the first runs choose kernels
    return {
        clients: asdict(running.loaded(verb, clients, images)) for clients, images in extent.clients.items()
    }


def machine() -> str:
    """The processor, in words."""
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    name = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )
    units = "with AMX" if torch.cpu.get_capabilities().get("amx_bf16") else "without AMX"
    return f"{os.cpu_count()} cores of {name} {units}"
