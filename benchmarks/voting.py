"""What a round costs: votes of all private texts, as published code counts them and as ours does, and SecPE's cells.

    .venv/bin/python -m benchmarks.voting --out docs/results/voting

All three choose from the same pool in turns, in one process; who goes first alternates. ``faiss`` is the flat index
that published code of Aug-PE votes with. Cells were counted once, which is timed apart. Private embeddings and
candidates lie around the same centres.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import torch

from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.privacy import Event
from pcevolve.selectors import PrivateEmbeddings, Scene
from pcevolve.selectors.cells import Cells
from pcevolve.selectors.votes import Votes

EVENTS = (Event("gaussian", "2", 1),)
POOLS = (2000, 14000)
ANCHORS = 1000
SPREAD = 0.7


def drawn(random: np.random.Generator, centres: np.ndarray, count: int) -> np.ndarray:
    """float32 ``(count, d)`` of length 1."""
    rows = centres[random.integers(len(centres), size=count)]
    rows = rows + np.float32(SPREAD / np.sqrt(centres.shape[1])) * random.standard_normal(
        rows.shape, np.float32
    )
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def scene_of(random: np.random.Generator, centres: np.ndarray, pool: int) -> Scene:
    """A round of one class; its first candidates are the anchors of cells."""
    pools = (drawn(random, centres, pool).astype(np.float64),)
    return Scene(("all",), pools, ANCHORS, 1, 2, 10, 7, "add-remove")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and processor seconds."""
    started, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - busy


def measured(private: PrivateEmbeddings, scene: Scene, turns: int) -> dict[str, Any]:
    """Seconds of each way for a round with this pool, and their ratio."""
    votes, cells, noise = Votes(ranked=True), Cells(), SeededNoise(0)
    first = replace(scene, pools=(scene.pools[0][:ANCHORS],))
    counts = cells.measure(private, first, EVENTS, noise)
    index, rows = faiss.IndexFlatL2(private.embeddings.shape[1]), private.embeddings
    index.add(scene.pools[0].astype(np.float32))
    ways = {
        "faiss": lambda: np.bincount(index.search(rows, 1)[1][:, 0], minlength=len(scene.pools[0])),
        "votes": lambda: votes.pick(votes.measure(private, scene, EVENTS, noise), scene),
        "cells": lambda: cells.pick(counts, scene),
    }
    for work in ways.values():
        work()
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(turns):
        for name in sorted(ways, reverse=turn % 2 == 0):
            took[name].append(timed(ways[name]))
    seconds = {name: float(np.median([each[0] for each in own])) for name, own in took.items()}
    busy = {name: float(np.median([each[1] for each in own])) for name, own in took.items()}
    ratios = {
        name: [one[0] / other[0] for one, other in zip(took[name], took["cells"], strict=True)]
        for name in ("votes", "faiss")
    }
    return {
        "pool": len(scene.pools[0]),
        "seconds": seconds,
        "once_seconds": timed(lambda: cells.measure(private, first, EVENTS, noise))[0],
        "ratio": {name: float(np.median(each)) for name, each in ratios.items()},
        "ratio_of_turns": {name: [min(each), max(each)] for name, each in ratios.items()},
        "processor_ratio": {name: busy[name] / busy["cells"] for name in ratios},
    }


def table(found: dict[str, Any]) -> str:
    """The page."""
    head = (
        f"# A round's votes, and a round of SecPE\n\n{found['records']:,} private texts, {ANCHORS:,} anchors, "
        f"{found['width']} dimensions, {found['threads']} threads, {found['machine']}; seconds are medians of "
        f"{found['turns']} turns in one process, ratios those of single turns.\n\n"
        "| pool | votes by FAISS | votes by ours | SecPE | FAISS / SecPE | ours / SecPE | SecPE, once per run |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    return head + "".join(map(_line, found["rows"]))


def _line(row: dict[str, Any]) -> str:
    seconds, spans = row["seconds"], row["ratio_of_turns"]
    ratios = " | ".join(f"{spans[each][0]:.0f}–{spans[each][1]:.0f}" for each in ("faiss", "votes"))
    own = f"{seconds['faiss']:.1f} s | {seconds['votes']:.1f} s | {seconds['cells']:.3f} s"
    return f"| {row['pool']:,} | {own} | {ratios} | {row['once_seconds']:.2f} s |\n"


def main() -> None:
    """Measure, print one JSON line, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path, help="also write PATH.json and PATH.md")
    given = parser.parse_args()
    faiss.omp_set_num_threads(torch.get_num_threads())
    random = np.random.default_rng(0)
    centres = random.standard_normal((200, given.width), dtype=np.float32) / np.float32(given.width**0.5)
    places = np.arange(given.records)
    private = PrivateEmbeddings(drawn(random, centres, given.records), np.zeros_like(places), places)
    rows = [measured(private, scene_of(random, centres, pool), given.turns) for pool in POOLS]
    found = {
        "records": given.records,
        "width": given.width,
        "turns": given.turns,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "rows": rows,
    }
    print(json.dumps(found))
    if given.out:
        given.out.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
        given.out.with_suffix(".md").write_text(table(found))


if __name__ == "__main__":
    main()
