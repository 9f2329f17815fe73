"""The API server under load against the pipeline behind it, in processor time, in turns.

    make bench-server
    .venv/bin/python -m benchmarks.server --smoke

Each client asks for one image after the other, the hardest load there is: whatever the server does not batch costs as
much as one image at a time. The last line is JSON; --out writes docs/results/server.{md,json}.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

VERBS, CLIENTS = ("t2i", "i2i"), (1, 8, 32, 64)
REPLICAS = ("--engine", "processes", "--replicas", "2", "--threads", "1")
SERVERS: dict[str, tuple[int, tuple[str, ...]]] = {
    "exact": (1, ("--threads", "1")),
    "merge": (1, ("--threads", "1", "--batching", "merge")),
    "exact, 2 threads": (2, ("--threads", "2")),
    "merge, 2 threads": (2, ("--threads", "2", "--batching", "merge")),
    "exact, 2 processes": (1, REPLICAS),
    "exact, compiled": (1, ("--threads", "1", "--compile")),
    "exact, 2 processes, compiled": (1, (*REPLICAS, "--compile")),
}
"""Servers by their name: threads of the pipeline that they are compared with, and options."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    given = _given(arguments)
    rows = list(_smoke() if given.smoke else _full(given.turns))
    result = {
        "machine": machine(),
        "turns": 1 if given.smoke else given.turns,
        "rows": rows,
        **headline(rows),
    }
    if given.out:
        from benchmarks.server.page import write

        write(given.out, result)
    print(json.dumps(result))


def _given(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--smoke", action="store_true", help="one thread, text-to-image, 1 and 32 clients, one turn"
    )
    parser.add_argument("--turns", type=int, default=3, help="of everything, of which the medians count")
    parser.add_argument("--out", type=Path, help="folder for server.md and server.json")
    return parser.parse_args(arguments)


def _smoke() -> Iterator[dict[str, object]]:
    return measured(1, ("t2i",), ("exact", "merge"), (1, 32), 1)


def _full(turns: int) -> Iterator[dict[str, object]]:
    for threads in sorted({each for each, _ in SERVERS.values()}):
        names = [name for name, (compared, _) in SERVERS.items() if compared == threads]
        yield from measured(threads, VERBS, names, CLIENTS, turns)


def measured(
    threads: int, verbs: Sequence[str], servers: Sequence[str], clients: Sequence[int], turns: int
) -> Iterator[dict[str, object]]:
    """Medians of every combination, each turn with the pipeline and the servers one after the other."""
    import torch

    from benchmarks.server.raw import BATCHES, taken
    from benchmarks.server.served import serving

    torch.set_num_threads(threads)
    for verb in verbs:
        raw: dict[int, list[float]] = {batch: [] for batch in BATCHES}
        cells: dict[tuple[str, int], list[dict[str, float]]] = {}
        for turn in range(turns):
            for batch in BATCHES:
                raw[batch].append(taken(verb, batch, images=8 if batch == 1 else 64))
            for name in servers:
                with serving(SERVERS[name][1]) as server:
                    server.loaded(verb, 4, 8)  # warms up
                    for count in clients:
                        cell = server.loaded(verb, count, images=max(48, 12 * count))
                        cells.setdefault((name, count), []).append(asdict(cell))
            print(f"{verb}, {threads} threads: turn {turn + 1} of {turns}", file=sys.stderr)
        batched = {batch: statistics.median(found) for batch, found in raw.items()}
        for (name, count), found in cells.items():
            yield _row(verb, name, count, found, batched)


def _row(
    verb: str, server: str, clients: int, found: list[dict[str, float]], raw: dict[int, float]
) -> dict[str, object]:
    from pcevolve_server.diffusion.steady import IMAGES

    cell = {name: statistics.median(each[name] for each in found) for name in found[0]}
    best = min(raw, key=raw.__getitem__)
    return {
        "verb": verb,
        "server": server,
        "clients": clients,
        "images_per_second": 1 / cell["wall"],
        "ratio_to_raw_pipeline": raw[best] / cell["processor"],
        "ratio_to_same_batch": raw[IMAGES] / cell["processor"],
        "ratio_to_one_at_a_time": raw[1] / cell["processor"],
        "best_batch": best,
        **cell,
    }


def headline(rows: Sequence[dict[str, object]]) -> dict[str, object]:
    """What a reader looks for, by server and clients: text-to-image."""
    names = ("images_per_second", "ratio_to_raw_pipeline", "ratio_to_same_batch", "ratio_to_one_at_a_time")
    shown = [row for row in rows if row["verb"] == "t2i"]
    return {
        name: {f"{row['server']}/{row['clients']}": round(float(str(row[name])), 3) for row in shown}
        for name in names
    }


def machine() -> str:
    """The processor, in words."""
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    name = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )
    units = " with AMX" if torch.cpu.get_capabilities().get("amx_bf16") else ""
    return f"{os.cpu_count()} cores of {name}{units}"


if __name__ == "__main__":
    main()
