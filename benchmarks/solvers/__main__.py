"""Measure schedulers and tiles, on weights that are in this repository's history.

    .venv/bin/python -m benchmarks.solvers --public $PCEVOLVE_BENCH_DATA/public_images

Five to ten minutes of one processor; ``--only`` measures a part and keeps what the page has of the others. The bundled
model is distilled for four steps of its own scheduler, so what is measured is its teacher, which takes ten guided
steps: its weights are read out of git into a temporary folder.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch

from benchmarks.rows import parser_of, table
from benchmarks.solvers.measures import measure_schedules, measure_tiles
from benchmarks.solvers.teacher import teacher


def machine() -> str:
    """Where and with what the figures were made."""
    return f"{platform.machine()}, one thread, torch {torch.__version__}"


def main() -> None:
    """Measure one after the other, and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--images", type=int, default=24, help="for each scheduler")
    parser.add_argument("--public", type=Path, help="folder of public photographs, for the tiles")
    parser.add_argument("--only", nargs="+", choices=("schedulers", "tiles"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    parts: dict[str, Callable[[Path], Any]] = {
        "schedulers": lambda folder: measure_schedules(folder, given.images),
        "tiles": lambda _: measure_tiles(given.public),
    }
    result = read(given.out)
    with teacher() as folder:
        for name in given.only or parts:
            result[name] = {"machine": machine(), **parts[name](folder)}
    write(given.out, result)


HEADER = """# Schedulers, tiles

Written by `benchmarks/solvers`; times are of the processor. The model of the schedulers is the teacher of
the bundled one ([decision 30](../decisions/0030-exact-and-fast.md)): 64 x 64 pixels, guidance 5.
"""
SCHEDULERS = """
## Schedulers

{machine}. How far an image is from that of 400 steps of DDIM, whose own error favours DDIM and Euler a little, under
the same prompt and seed: levels of 255, root mean square, mean of {images} images ± its standard error. The last row
is another image altogether, for scale. A step costs the same with every scheduler, so *times as fast* is 50 over the
steps.
"""
TILES = """
## Tiles

{machine}. Memory (the process's peak, libraries included) and time of decoding one image of {side} x {side} with Stable
Diffusion 1.5's autoencoder, random weights; and the likeness of {photographs} photographs of 128 x 128 that went
through the bundled autoencoder, which was made for 64, with its own weights: peak signal to noise.
"""


Section = tuple[str, tuple[str, ...], Callable[[dict[str, Any]], tuple[str, ...]]]


def read(folder: Path) -> dict[str, Any]:
    """Read what was measured before, by parts."""
    file = folder / "solvers.json"
    return json.loads(file.read_text()) if file.exists() else {}


def write(folder: Path, result: dict[str, Any]) -> None:
    """Write ``solvers.md`` and ``solvers.json``; of parts that were never measured there is nothing."""
    (folder / "solvers.json").write_text(json.dumps(result, indent=1) + "\n")
    text = HEADER
    for name, (told, heads, row) in SECTIONS.items():
        if name in result:
            text += told.format(**result[name]) + "\n" + table(heads, map(row, result[name]["rows"]))
    (folder / "solvers.md").write_text(text)


def _scheduler(row: dict[str, Any]) -> tuple[str, ...]:
    times = (f"{row['seconds']:.2f}", f"{row['times_as_fast']:.2f}") if "seconds" in row else ("", "")
    return row["scheduler"], str(row["steps"]), *times, f"{row['levels']:.1f} ± {row['error']:.1f}"


def _tile_cells(row: dict[str, Any]) -> tuple[str, ...]:
    return "yes" if row["tiles"] else "no", f"{row['mib']:.0f}", f"{row['seconds']:.1f}", f"{row['psnr']:.1f}"


SECTIONS: dict[str, Section] = {
    "schedulers": (
        SCHEDULERS,
        ("scheduler", "steps", "s an image", "times as fast", "levels off"),
        _scheduler,
    ),
    "tiles": (TILES, ("tiles", "MiB", "s", "dB"), _tile_cells),
}
"""By part: what is told before its table, the table's heads, and how a row is shown."""


if __name__ == "__main__":
    main()
