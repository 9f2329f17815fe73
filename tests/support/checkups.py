"""Folders of private images as somebody has them checked; for tests only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from pcevolve.keeper.private.listing import list_folder


def save(path: Path, seed: int, side: int = 48) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    coarse = np.random.default_rng(seed).integers(0, 256, (7, 7, 3), dtype=np.uint8)
    Image.fromarray(coarse).resize((side, side)).save(path)
    return path


def tree(root: Path, *folders: str, images: int) -> Path:
    """Folders of images, each unlike every other."""
    for place, folder in enumerate(folders):
        for number in range(images):
            save(root / folder / f"{number}.png", 10 * place + number)
    return root


def write_map(path: Path, root: Path, unit: Callable[[str], str]) -> Path:
    """A map of the images of a folder, of which each has its unit's name."""
    names = list_folder(root, None, nested=True).names
    path.write_text("file,patient\n" + "".join(f"{name},{unit(name)}\n" for name in names), "utf-8")
    return path
