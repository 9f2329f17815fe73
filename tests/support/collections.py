"""Tiny libraries of public images: plain colours with a little texture, sorted into folders; for tests only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"red": (200, 40, 40), "green": (40, 170, 60), "blue": (40, 60, 200)}


def pixels(colour: tuple[int, int, int], number: int, side: int = 24) -> np.ndarray:
    """A colour that grows lighter with the number, and texture of its own."""
    random = np.random.default_rng([number, *colour])
    plain = np.full((side, side, 3), colour) + 4 * number
    return np.clip(plain + random.integers(-6, 7, plain.shape), 0, 255).astype(np.uint8)


def library(root: Path, images: int = 6, domain: str = "painted tile") -> Path:
    """Three folders of a colour each, and a licence."""
    for name, colour in COLOURS.items():
        folder = root / domain / name
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(images):
            Image.fromarray(pixels(colour, number)).save(folder / f"{number:03d}.png")
    (root / "LICENSE").write_text("Painted tiles\nby nobody, CC0-1.0\n")
    return root


def keep_at_once(images: int) -> None:
    """Have a server that indexes put so many on the disk at a time: it may be killed between them."""
    from pcevolve_server.library import collection

    collection._KEPT_AT_ONCE = images
