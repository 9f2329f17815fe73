"""From rounds to a table, to the numbers that are looked for, and to what the pipeline's own figures imply."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.server.rounds import DEFAULT, Round
from pcevolve_server.diffusion.batch_invariant import IMAGES

NAMES = (
    "images_per_second",
    "ratio_to_raw_pipeline",
    "ratio_to_raw_pipeline_at_same_batch",
    "ratio_to_one_at_a_time",
)
"""By task, server and clients. The pipeline's at its best batch, at the exact server's 32, and at 1; never compiled."""


def rows(found: Sequence[Round]) -> list[dict[str, Any]]:
    """One for each task, server and number of clients: medians over turns."""
    servers = dict.fromkeys(one.server for one in found)
    return [
        _row(verb, server, clients, [one for one in found if one.server == server])
        for verb in found[0].cells
        for server in servers
        for clients in found[0].cells[verb]
    ]


def _row(verb: str, server: str, clients: int, turns: Sequence[Round]) -> dict[str, Any]:
    cells = [one.cells[verb][clients] for one in turns]
    cell = {name: statistics.median(each[name] for each in cells) for name in cells[0]}
    batches = turns[0].raw[verb]
    raw = {batch: statistics.median(one.raw[verb][batch] for one in turns) for batch in batches}
    best = min(raw, key=raw.__getitem__)
    values = (1 / cell["wall"], *(raw[batch] / cell["processor"] for batch in (best, IMAGES, 1)))
    return {
        "verb": verb,
        "server": server,
        "clients": clients,
        **dict(zip(NAMES, values, strict=True)),
        "best_batch": best,
        "raw": raw,
        **cell,
    }


_SOUGHT = {
    "single": (1, "ratio_to_one_at_a_time"),
    "eight": (8, "ratio_to_raw_pipeline"),
    "thirty_two": (32, "ratio_to_raw_pipeline"),
}
"""Clients of the default server, and what its processor time is compared with."""
_TASKS = {"t2i": "by_prompt", "i2i": "by_image"}


def _sought(table: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """One number for each load that matters, by task, as far as it was measured."""
    cells = {(row["verb"], row["clients"]): row for row in table if row["server"] == DEFAULT}
    return {
        task: {
            name: round(cells[verb, clients][ratio], 3)
            for name, (clients, ratio) in _SOUGHT.items()
            if (verb, clients) in cells
        }
        for verb, task in _TASKS.items()
    }


def headline(table: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures that a reader looks for, by task, server and clients."""
    found: dict[str, Any] = {"pipeline": "as the server loads it, never compiled", **_sought(table)}
    for name in NAMES:
        tasks: dict[str, dict[str, dict[str, float]]] = {}
        for row in table:
            cells = tasks.setdefault(row["verb"], {}).setdefault(row["server"], {})
            cells[str(row["clients"])] = round(row[name], 3)
        found[name] = tasks
    return found


def fit_fixed_part(raw: Mapping[int, float]) -> tuple[float, float]:
    """Seconds of a run however many images are in it, and of each image: least squares over full batches.

    Args:
        raw: Seconds per image by images in a batch; batches of 32 and more count, of which there are at least two.
    """
    batches = [batch for batch in raw if batch >= IMAGES]
    slope, intercept = np.polyfit(batches, [batch * raw[batch] for batch in batches], 1)
    return max(0.0, float(intercept)), float(slope)
