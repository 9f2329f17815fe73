"""Writes what the benchmark found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEADER = """# The API server under load

Written by `make bench-server` on {machine}. The bundled model draws 64 x 64 pixels in its 4 steps (t2i), or varies
an image at strength 0.6 (i2i). Every client asks for **one image at a time**, so all batching is the server's. Ratios
are of processor time per image, medians of {turns} in which the pipeline and the servers ran one after the other:
**of the raw pipeline** is the pipeline's at its best batch over the server's, HTTP, PNG and JSON included; **at the
same batch** is the pipeline's in batches of 16, which are the server's; **of one at a time** is the pipeline's at a
batch of one. Images per second are by the clock.

`exact`, the default, gives the same bytes whoever else asks; `merge` lets images that share a run differ by rounding.
Servers have one thread unless they say otherwise, 2 processes one each (`--engine processes`); compiled is `--compile`.
"""
COLUMNS = {
    "verb": "",
    "server": "server",
    "clients": "clients",
    "images_per_second": "images/s",
    "ratio_to_raw_pipeline": "of the raw pipeline",
    "ratio_to_same_batch": "at the same batch",
    "ratio_to_one_at_a_time": "of one at a time",
    "p50": "p50, s",
    "p99": "p99, s",
    "mib": "MiB",
}


def write(folder: Path, result: dict[str, Any]) -> None:
    """Write ``server.md`` and ``server.json``."""
    (folder / "server.json").write_text(json.dumps(result, indent=1) + "\n")
    lines = ["| " + " | ".join(COLUMNS.values()) + " |", "|---" * len(COLUMNS) + "|"]
    lines += ["| " + " | ".join(_shown(row[name]) for name in COLUMNS) + " |" for row in result["rows"]]
    (folder / "server.md").write_text(
        HEADER.format(machine=result["machine"], turns=_turns(result["turns"]))
        + "\n"
        + "\n".join(lines)
        + "\n"
    )


def _turns(count: int) -> str:
    return "one turn" if count == 1 else f"{count} turns"


def _shown(value: float | str) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"
