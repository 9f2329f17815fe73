"""Folders of a few private images; for tests only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

LABELS = ("cut", "good")


def shots(folder: Path) -> Path:
    """Two images of noise for each class, a folder each."""
    random = np.random.default_rng(0)
    for label in LABELS:
        (folder / label).mkdir(parents=True)
        for number in range(2):
            pixels = random.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / label / f"{number}.png")
    return folder
