"""Measure what makes the bundled model fast: processor seconds for an image, and how far its images differ.

.venv/bin/python benchmarks/speed.py --json

Weights and prompt are the same throughout, so that ten guided steps show what they cost and not how the few-step model
was trained: images are compared between ways of the same steps and guidance alone.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch

from benchmarks.rows import parser_of
from pcevolve_server.diffusion.generator_loading import load
from pcevolve_server.model_settings import ModelSettings, Precision
from pcevolve_server.work import Generator, Recipe, Task, generate

PROMPT = "A printed glyph image with digit 3"
LONG, SHORT = (10, 5.0), (4, 1.0)


@dataclass(frozen=True)
class Way:
    """How images are drawn.

    Attributes:
        asked: Steps and guidance.
    """

    precision: Precision
    asked: tuple[int, float]
    compiled: bool = False

    @property
    def settings(self) -> ModelSettings:
        """Of the server that draws so."""
        return ModelSettings(device="cpu", offline=True, precision=self.precision, compiled=self.compiled)

    def __str__(self) -> str:
        """In words."""
        steps, guidance = self.asked
        guided = "guided steps" if guidance > 1 else "steps"
        return f"{self.precision}, {steps} {guided}" + (", compiled" if self.compiled else "")


WAYS = (
    Way(Precision.FLOAT32, LONG),
    Way(Precision.BFLOAT16, LONG),
    Way(Precision.FLOAT32, SHORT),
    Way(Precision.BFLOAT16, SHORT),
    Way(Precision.BFLOAT16, SHORT, compiled=True),
)


def time_images(model: Generator, way: Way, count: int) -> tuple[float, np.ndarray]:
    """Processor seconds per image, and the images, int64 ``(count, 64, 64, 3)``."""
    recipe = Recipe(64, 64, *way.asked)
    started = time.process_time()
    made = generate(model, [Task(recipe, PROMPT, "", seed) for seed in range(count)])
    seconds = (time.process_time() - started) / count
    return seconds, np.stack([np.asarray(each.image, dtype=np.int64) for each in made])


def measure(count: int, turns: int) -> list[dict[str, object]]:
    """For each way: the median over turns, how often it goes into the first, and how far images are from float32's."""
    models = {
        way: load(ModelSettings(device="cpu", offline=True, precision=way.precision, compiled=way.compiled))
        for way in WAYS
    }
    seconds: dict[Way, list[float]] = {way: [] for way in WAYS}
    images: dict[Way, np.ndarray] = {}
    for turn in range(turns + 1):
        for way, model in models.items():
            found, images[way] = time_images(model, way, count)
            if turn:  # the first one warms up
                seconds[way].append(found)
    medians = {way: float(np.median(found)) for way, found in seconds.items()}
    return [
        {
            "way": str(way),
            "seconds": medians[way],
            "times_as_fast": medians[WAYS[0]] / medians[way],
            "rms_levels": float(
                np.sqrt(((images[way] - images[Way(Precision.FLOAT32, way.asked)]) ** 2).mean())
            ),
        }
        for way in WAYS
    ]


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    found = measure(given.images, given.turns)
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for row in found:
        print(
            "  ".join(
                f"{name} {value:.3g}" if isinstance(value, float) else f"{value}"
                for name, value in row.items()
            )
        )


if __name__ == "__main__":
    main()
