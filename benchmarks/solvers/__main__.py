"""Measure schedulers, guidance intervals and tiles, on weights that are in this repository's history.

    .venv/bin/python -m benchmarks.solvers --public $PCEVOLVE_BENCH_DATA/public_images

Five to ten minutes of one processor; ``--only`` measures a part and keeps what the page has of the others. The bundled
model is distilled for four steps of its own scheduler, so what is measured is its teacher, which takes ten guided
steps: its weights are read out of git into a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch

from benchmarks.solvers import guidance, page, schedules, tiles
from benchmarks.solvers.teacher import teacher


def machine() -> str:
    """Where and with what the figures were made."""
    return f"{platform.machine()}, one thread, torch {torch.__version__}"


def main() -> None:
    """Measure one after the other, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=24, help="for each scheduler")
    parser.add_argument("--each", type=int, default=8, help="prompts for each of 36 characters")
    parser.add_argument("--reader-steps", type=int, default=900, help="of training the reader of characters")
    parser.add_argument("--public", type=Path, help="folder of public photographs, for the tiles")
    parser.add_argument("--only", nargs="+", choices=("schedulers", "guidance", "tiles"))
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    parts: dict[str, Callable[[Path], Any]] = {
        "schedulers": lambda folder: schedules.measure(folder, given.images),
        "guidance": lambda folder: guidance.measure(folder, given.each, given.reader_steps),
        "tiles": lambda _: tiles.measure(given.public),
    }
    result = page.read(given.out)
    with teacher() as folder:
        for name in given.only or parts:
            result[name] = {"machine": machine(), **parts[name](folder)}
    page.write(given.out, result)


if __name__ == "__main__":
    main()
