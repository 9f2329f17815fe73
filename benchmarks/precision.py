"""The bundled model's denoiser in float32 and in bfloat16: processor time for an image, in turns; how images differ.

.venv/bin/python benchmarks/precision.py --json
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch

from pcevolve_server.diffusion.loading import load
from pcevolve_server.generator import Generator, Recipe, Task
from pcevolve_server.settings import ModelSettings, Precision

RECIPE = Recipe(width=64, height=64, steps=10, guidance=5.0, strength=None)
PROMPT = "A printed glyph image with digit 3"


def timed(model: Generator, count: int) -> tuple[float, np.ndarray]:
    """Processor seconds per image, and the images, int64 ``(count, 64, 64, 3)``."""
    started = time.process_time()
    made = model.create([Task(RECIPE, PROMPT, "", seed, None) for seed in range(count)])
    seconds = (time.process_time() - started) / count
    return seconds, np.stack([np.asarray(each.image, dtype=np.int64) for each in made])


def compared(models: dict[Precision, Generator], count: int, turns: int) -> dict[str, float]:
    """Medians over turns, in which each model draws once, and the root mean square of all differences in levels."""
    seconds: dict[Precision, list[float]] = {name: [] for name in models}
    images: dict[Precision, np.ndarray] = {}
    for turn in range(turns + 1):
        for name, model in models.items():
            found, images[name] = timed(model, count)
            if turn:  # the first one warms up
                seconds[name].append(found)
    medians = {name.value: float(np.median(each)) for name, each in seconds.items()}
    apart = images[Precision.FLOAT32] - images[Precision.BFLOAT16]
    ratio = medians["float32"] / medians["bfloat16"]
    return {"images": count, **medians, "ratio": ratio, "rms_levels": float(np.sqrt((apart**2).mean()))}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    names = (Precision.FLOAT32, Precision.BFLOAT16)
    settings = {name: ModelSettings(device="cpu", offline=True, precision=name) for name in names}
    models = {name: load(each) for name, each in settings.items()}
    found = [compared(models, count, given.turns) for count in (1, 8, 16, 30)]
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for row in found:
        print("  ".join(f"{name} {value:.3g}" for name, value in row.items()))


if __name__ == "__main__":
    main()
