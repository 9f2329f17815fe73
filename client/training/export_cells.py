"""Chooses the pictures of blood cells that ``--private cells`` offers, out of those that no model here is trained on.

::

    python client/training/export_cells.py --public FOLDER --out client/src/pcevolve/keeper/private/cells

``FOLDER`` is the collection of public photographs that the bundled generator learns from; of its blood smears, every
third is kept from it (``api_server/training/material/photographs.py``).
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

from PIL import Image

from pcevolve.keeper.private.bundled import SIDE
from pcevolve.public.config.data_source import CELLS

EACH, COLUMNS = 50, 10
RESERVED_EVERY = 3
QUALITY = 90


def choose(folder: Path) -> list[Path]:
    """Return ``EACH`` pictures of a kind, which their names alone decide."""
    reserved = [path for path in folder.iterdir() if int(path.stem) % RESERVED_EVERY == 0]
    return sorted(reserved, key=lambda path: hashlib.sha256(path.name.encode()).digest())[:EACH]


def sheet(paths: list[Path]) -> Image.Image:
    """Return pictures as tiles, row by row."""
    page = Image.new("RGB", (COLUMNS * SIDE, -(-len(paths) // COLUMNS) * SIDE))
    for place, path in enumerate(paths):
        with Image.open(path) as image:
            tile = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.LANCZOS)
        page.paste(tile, (place % COLUMNS * SIDE, place // COLUMNS * SIDE))
    return page


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--public", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
    for name in CELLS:
        page = sheet(choose(given.public / "blood smear" / name))
        page.save(given.out / f"{name}.webp", quality=QUALITY, method=6)


if __name__ == "__main__":
    main()
