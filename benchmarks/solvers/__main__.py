"""What schedulers, guidance intervals and tiles cost and change, on weights that are in this repository's history.

    .venv/bin/python -m benchmarks.solvers --public $PCEVOLVE_BENCH_DATA/public_images

Five to ten minutes of one processor. The bundled model is distilled for four steps of its own scheduler, so what is
measured is its teacher, which takes ten guided steps: its weights are read out of git into a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch

from benchmarks.solvers import guidance, page, schedules, tiles
from benchmarks.solvers.teacher import teacher


def main() -> None:
    """Measure one after the other, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=24, help="for each scheduler")
    parser.add_argument("--each", type=int, default=8, help="prompts for each of 36 characters")
    parser.add_argument("--reader-steps", type=int, default=900, help="of training the reader of characters")
    parser.add_argument("--public", type=Path, required=True, help="folder of public photographs")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    result: dict[str, Any] = {
        "machine": f"{platform.machine()}, one thread, torch {torch.__version__}",
        "images": given.images,
    }
    with teacher() as folder:
        parts = {
            "tiles": lambda: tiles.measured(given.public),
            "schedulers": lambda: schedules.measured(folder, given.images),
            "guidance": lambda: guidance.measured(folder, given.each, given.reader_steps),
        }
        for name, measured in parts.items():
            result[name] = measured()
            print(json.dumps({name: result[name]}), file=sys.stderr, flush=True)
    page.write(given.out, result)


if __name__ == "__main__":
    main()
