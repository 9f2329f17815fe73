"""How far images are from those of many small steps, by scheduler and number of steps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.solvers.teacher import draw, loaded
from pcevolve_server.model_settings import Precision
from pcevolve_server.work import Recipe

GUIDANCE: Final = 5.0
REFERENCE: Final = ("ddim", 400)
"""Of first order; by steps of an eighth its error is about an eighth of that of 50.

Heun's method is no reference here: its images were 104 levels away from those of DDIM. This model's schedule ends at
noise of 20,000 times the signal, from where a trapezoid leads astray.
"""
WAYS: Final = (
    ("ddim", 50),
    ("euler", 50),
    ("pndm", 50),
    ("ddim", 20),
    ("euler", 20),
    ("dpmpp_2m", 15),
    ("dpmpp_2m", 20),
    ("dpmpp_2m", 25),
)
PROMPTS: Final = (
    "A printed glyph image with digit 3",
    "A handwritten mark image with letter K",
    "A blood smear image with white blood cell",
    "A chest x-ray image with pneumonia",
    "A leather texture image with scratch defect",
    "A drawn clothing image with sneaker",
)


def measure(folder: Path, count: int) -> dict[str, Any]:
    """For each way: time, its ratio to 50 steps of DDIM, and the distance in levels of 255, root mean square.

    Args:
        folder: Of the model.
        count: Images of each way, under the same prompts and seeds.
    """
    model = loaded(folder, Precision.FLOAT32)
    prompts = [PROMPTS[place % len(PROMPTS)] for place in range(count)]

    def of(scheduler: str, steps: int, seed: int = 0) -> tuple[np.ndarray, float]:
        found, seconds = draw(model, Recipe(64, 64, steps, GUIDANCE, scheduler), prompts, seed)
        return found.astype(np.int64), seconds

    truth, _ = of(*REFERENCE)
    others, _ = of("dpmpp_2m", 20, seed=10_000)
    rows = [_row(scheduler, steps, *of(scheduler, steps), truth) for scheduler, steps in WAYS]
    for row in rows:
        row["times_as_fast"] = rows[0]["seconds"] / row["seconds"]
    rows.append({"scheduler": "dpmpp_2m, another seed", "steps": 20} | _distance(others, truth))
    return {"images": count, "rows": rows}


def _row(scheduler: str, steps: int, images: np.ndarray, seconds: float, truth: np.ndarray) -> dict[str, Any]:
    row = {"scheduler": scheduler, "steps": steps, "seconds": seconds} | _distance(images, truth)
    print(row, file=sys.stderr, flush=True)
    return row


def _distance(images: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Mean over images, and its standard error."""
    each = np.sqrt(((images - truth) ** 2).mean(axis=(1, 2, 3)))
    return {"levels": float(each.mean()), "error": float(each.std(ddof=1) / np.sqrt(len(each)))}
