"""Time a round: votes of all private texts, as published code counts them and as ours does, and SecPE's cells.

    .venv/bin/python -m benchmarks.voting --out docs/results/voting

All three choose from the same pool in turns, in one process; who goes first alternates. ``faiss`` is the flat index
that published code of Aug-PE votes with. Cells were counted once, which is timed apart. Private embeddings and
candidates lie around the same centres.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import torch

from benchmarks.rows import table
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.privacy import Event
from pcevolve.public.selectors import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.cells import Cells
from pcevolve.public.selectors.votes import Votes

EVENTS = (Event("gaussian", "2", 1),)
CASES = ("100000x2000", "100000x14000", "1900000x2000")
ANCHORS = 1000
SPREAD = 0.7
BLOCK = 2**14
LEAST_SECONDS = 1.0
"""A turn of what is faster is repeated for so long, and its mean counts."""
HEADS = (
    "private texts",
    "pool",
    "votes by FAISS",
    "votes by ours",
    "SecPE",
    "FAISS / SecPE",
    "ours / SecPE",
    "SecPE, once per run",
)
WORDS = """
By arithmetic the ratio is 200, 108 and 3,800 where both searches are equally good: private texts times pool over
anchors times those candidates that are no anchors themselves. A small search has more overhead. What a round of
SecPE does not do is look at private data, so its time tells nothing of them. Votes by ours are
exact, and the same bit for bit on any machine, which the audit needs; FAISS's are those of float32 products.
"""


def draw(random: np.random.Generator, centres: np.ndarray, count: int) -> np.ndarray:
    """float32 ``(count, d)`` of length 1."""
    rows = np.empty((count, centres.shape[1]), dtype=np.float32)
    for start in range(0, count, BLOCK):
        part = rows[start : start + BLOCK]
        part[:] = centres[random.integers(len(centres), size=len(part))]
        part += np.float32(SPREAD / np.sqrt(part.shape[1])) * random.standard_normal(part.shape, np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return rows


def scene_of(random: np.random.Generator, centres: np.ndarray, pool: int) -> SelectionInput:
    """A round of one class; its first candidates are the anchors of cells."""
    pools = (draw(random, centres, pool).astype(np.float64),)
    return SelectionInput(("all",), pools, ANCHORS, 1, 2, 10, 7, "add-remove")


def time_work(work: Callable[[], object], least: float = 0.0) -> tuple[float, float]:
    """Seconds, and processor seconds, of work done once or, as means, again and again for ``least`` seconds."""
    started, busy, times = time.perf_counter(), time.process_time(), 0
    while not times or time.perf_counter() - started < least:
        work()
        times += 1
    return (time.perf_counter() - started) / times, (time.process_time() - busy) / times


def case(records: int, pool: int, width: int, turns: int) -> dict[str, Any]:
    """Measure one size."""
    random = np.random.default_rng(0)
    centres = random.standard_normal((200, width), dtype=np.float32) / np.float32(width**0.5)
    places = np.arange(records)
    private = PrivateEmbeddings(draw(random, centres, records), np.zeros_like(places), places)
    return measure(private, scene_of(random, centres, pool), turns)


def measure(private: PrivateEmbeddings, scene: SelectionInput, turns: int) -> dict[str, Any]:
    """Seconds of each way for a round with this pool, and their ratio."""
    votes, cells, noise = Votes(ranked=True), Cells(), SeededNoise(0)
    first = replace(scene, pools=(scene.pools[0][:ANCHORS],))
    counts = cells.measure(private, first, EVENTS, noise)
    index, rows = faiss.IndexFlatL2(private.embeddings.shape[1]), private.embeddings
    index.add(scene.pools[0].astype(np.float32))
    ways: dict[str, Callable[[], object]] = {
        "faiss": lambda: np.bincount(index.search(rows, 1)[1][:, 0], minlength=len(scene.pools[0])),
        "votes": lambda: votes.pick(votes.measure(private, scene, EVENTS, noise), scene),
        "cells": lambda: cells.pick(counts, scene),
    }
    for work in ways.values():
        work()
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(turns):
        for name in sorted(ways, reverse=turn % 2 == 0):
            took[name].append(time_work(ways[name], LEAST_SECONDS))
    seconds = {name: float(np.median([each[0] for each in own])) for name, own in took.items()}
    busy = {name: float(np.median([each[1] for each in own])) for name, own in took.items()}
    ratios = {
        name: [one[0] / other[0] for one, other in zip(took[name], took["cells"], strict=True)]
        for name in ("votes", "faiss")
    }
    return {
        "records": len(private),
        "pool": len(scene.pools[0]),
        "seconds": seconds,
        "once_seconds": time_work(lambda: cells.measure(private, first, EVENTS, noise))[0],
        "ratio": {name: float(np.median(each)) for name, each in ratios.items()},
        "ratio_of_turns": {name: [min(each), max(each)] for name, each in ratios.items()},
        "processor_ratio": {name: busy[name] / busy["cells"] for name in ratios},
    }


def page(found: dict[str, Any]) -> str:
    """The page."""
    head = (
        f"# A round's votes, and a round of SecPE\n\n{ANCHORS:,} anchors, "
        f"{found['width']} dimensions, {found['threads']} threads, {found['machine']}, "
        f"at most {found['peak_gib']:.1f} GiB; seconds are medians of "
        f"{found['turns']} turns in one process, each of a second at least, ratios those of single turns.\n\n"
        f""
    )
    return head + table(HEADS, map(_line, found["rows"])) + WORDS


def _line(row: dict[str, Any]) -> list[str]:
    seconds, spans = row["seconds"], row["ratio_of_turns"]
    ratios = [f"{spans[each][0]:.0f}–{spans[each][1]:.0f}" for each in ("faiss", "votes")]
    own = [f"{seconds['faiss']:.1f} s", f"{seconds['votes']:.1f} s", f"{seconds['cells']:.3f} s"]
    return [f"{row['records']:,}", f"{row['pool']:,}", *own, *ratios, f"{row['once_seconds']:.2f} s"]


def main() -> None:
    """Measure, print one JSON line, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=CASES, help="private texts x pool")
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--out", type=Path, help="also write PATH.json and PATH.md")
    given = parser.parse_args()
    faiss.omp_set_num_threads(torch.get_num_threads())
    sizes = [tuple(map(int, each.split("x"))) for each in given.cases]
    rows = [case(records, pool, given.width, given.turns) for records, pool in sizes]
    found = {
        "width": given.width,
        "turns": given.turns,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "rows": rows,
    }
    print(json.dumps(found))
    if given.out:
        given.out.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
        given.out.with_suffix(".md").write_text(page(found))


if __name__ == "__main__":
    main()
