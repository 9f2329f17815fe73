"""Writes what the benchmark found: every number and every comparison in the text is computed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.rows import table
from benchmarks.server.ratios import fit_fixed_part
from benchmarks.server.rounds import COMPILED, DEFAULT, TWO_PROCESSES
from pcevolve_server.diffusion.batch_invariant import IMAGES

TARGET, CLIENTS = 0.9, 32
TASKS = {"t2i": "Text-to-image", "i2i": "Image-to-image"}

HEADER = """# The API server under load

Written by `make bench-server` on {machine}. The bundled model draws 64 x 64 pixels in its 4 steps (t2i), or varies
an image at strength 0.6 in 3 (i2i). Every client asks for **one image at a time**: all batching is the server's. Ratios
are of processor time per image, medians of {turns} in which each server ran just after the pipeline:
**of the best batch** is the pipeline's at its best batch over the server's, HTTP, PNG and JSON included; **at the
same batch** is the pipeline's in batches of 32, which are the server's at most; **of one at a time** is the pipeline's
at a batch of one. The pipeline has the server's precision and memory layout and makes the same steps; it is never
compiled, also where the server is. Images per second are by the clock.

`exact`, the default, gives the same bytes whoever else asks; `merge` lets images that share a run differ by rounding.
Servers have one thread unless they say otherwise, 2 processes one each (`--engine processes`); compiled is `--compile`.
"""
COLUMNS = {
    "verb": "",
    "server": "server",
    "clients": "clients",
    "images_per_second": "images/s",
    "ratio_to_raw_pipeline": "of the best batch",
    "ratio_to_raw_pipeline_at_same_batch": "at the same batch",
    "ratio_to_one_at_a_time": "of one at a time",
    "p50": "p50, s",
    "p99": "p99, s",
    "mib": "MiB",
}


def write(folder: Path, result: Mapping[str, Any]) -> None:
    """Write ``server.md`` and ``server.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "server.json").write_text(json.dumps(result, indent=1) + "\n")
    rows = table([*COLUMNS.values()], ([_spell(row[name]) for name in COLUMNS] for row in result["rows"]))
    header = HEADER.format(machine=result["machine"], turns=_turns(result["turns"]))
    (folder / "server.md").write_text("\n".join([header, *findings(result), rows]))


def findings(result: Mapping[str, Any]) -> list[str]:
    """A paragraph for each task, of the figures at 32 clients; none where they were not measured."""
    rows = {(row["verb"], row["server"], row["clients"]): row for row in result["rows"]}
    lines: list[str] = []
    for verb, task in TASKS.items():
        names = (DEFAULT, COMPILED, TWO_PROCESSES)
        if all((verb, name, CLIENTS) in rows for name in names):
            default, compiled, several = (rows[verb, name, CLIENTS] for name in names)
            said = _spell_ratio(default), _others(compiled, several), _describe_pipeline(default)
            lines += [f"**{task}.** {' '.join(said)}", ""]
    return lines


def _spell_ratio(row: Mapping[str, Any]) -> str:
    best, same = row["ratio_to_raw_pipeline"], row["ratio_to_raw_pipeline_at_same_batch"]
    return (
        f"{CLIENTS} clients of the default server get {row['images_per_second']:.1f} images a second out of one thread:"
        f" {best:.2f} of the pipeline's best batch ({row['best_batch']}), which {_against(best)} the target of"
        f" {TARGET}, and {same:.2f} of the same batch, which {_against(same)} it."
    )


def _against(ratio: float) -> str:
    return "meets" if ratio >= TARGET else "misses"


def _others(compiled: Mapping[str, Any], several: Mapping[str, Any]) -> str:
    return (
        f"Compiled it is {compiled['ratio_to_raw_pipeline']:.2f} of the best batch of the pipeline, which is not; two"
        f" processes make {several['images_per_second']:.1f} images a second."
    )


def _describe_pipeline(row: Mapping[str, Any]) -> str:
    """Say in words what the pipeline's own figures are at batches of 16."""
    run, image = fit_fixed_part(row["raw"])
    best = row["best_batch"]
    most = min(1.0, (image + run / best) / (image + run / IMAGES))
    return (
        f"The pipeline takes {1000 * run:.0f} ms for a run and {1000 * image:.1f} ms for each image in it, so that"
        f" batches of {IMAGES} reach at most {most:.2f} of batches of {best}, before HTTP and PNG."
    )


def _turns(count: int) -> str:
    return "one turn" if count == 1 else f"{count} turns"


def _spell(value: float | str) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"
