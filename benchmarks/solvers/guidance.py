"""Measure what guidance in an interval of the noise levels saves, and how many prompts are still followed."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from benchmarks.solvers.teacher import draw, loaded
from pcevolve_server.model_settings import Precision
from pcevolve_server.work import Recipe

_TRAINING = Path(__file__).parents[2] / "api_server" / "training"
INTERVALS: Final = ((0.0, 1.0), (0.4, 1.0), (0.0, 0.8))
RECIPE: Final = Recipe(64, 64, 10, 5.0)


def measure(folder: Path, each: int, reader_steps: int) -> dict[str, Any]:
    """For each interval: processor seconds for an image, and the share of glyph prompts that the reader reads so.

    Args:
        folder: Of the model.
        each: Prompts for each of 36 characters.
        reader_steps: Of training the reader, which has seen no image of the model's.
    """
    reader = _script("judge").train(reader_steps, seed=7).eval()
    characters = list(_script("material").CHARACTERS)
    wanted = np.repeat(np.arange(len(characters)), each)
    prompts = [f"A printed glyph image with {_script('evaluate')._label(characters[c])}" for c in wanted]
    rows = []
    for interval in INTERVALS:
        model = loaded(folder, Precision.AUTO, interval)
        images, seconds = draw(model, RECIPE, prompts, seed=0)
        share = float((_read(reader, images) == wanted).mean())
        half = 1.96 * math.sqrt(share * (1 - share) / len(wanted))
        rows.append(
            {"low": interval[0], "high": interval[1], "seconds": seconds, "followed": share, "half": half}
        )
    return {"prompts": len(wanted), "rows": rows}


def _script(name: str) -> Any:  # noqa: ANN401 - a module of the training, which is not installed
    if str(_TRAINING) not in sys.path:
        sys.path.insert(0, str(_TRAINING))
    return importlib.import_module(name)


def _read(reader: torch.nn.Module, images: np.ndarray) -> np.ndarray:
    """Which character each image shows, by its number."""
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
    with torch.inference_mode():
        return reader(pixels).argmax(1).numpy()
