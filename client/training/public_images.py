"""Decode the training part of a folder of public photographs once: ``images.npy`` and ``labels.json``.

The folder holds ``manifest.csv`` (columns ``file``, ``domain``, ``label``, ``source``, ``licence``, ``author``) and
the files that it names. What is reserved for development is left out here, so that no later step can see it.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
from PIL import Image

SIDE = 128  # pixels
RESERVED_DOMAINS = frozenset({"household waste"})
"""Kept for final tables: no image of these domains is trained on."""
THIRDS = frozenset({"chest x-ray", "blood smear"})
"""Domains of which every file whose number is divisible by 3 is a private set of development."""


def is_training(row: dict[str, str]) -> bool:
    """Tell if an image of the manifest may be trained on: permissive licence, and not reserved."""
    path = Path(row["file"])
    if path.parts[0] == "sa" or row["domain"] in RESERVED_DOMAINS:
        return False
    return row["domain"] not in THIRDS or int(path.stem) % 3 != 0


def training_rows(folder: Path) -> list[dict[str, str]]:
    """The lines of ``manifest.csv`` that may be trained on, in its order."""
    with (folder / "manifest.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if is_training(row)]


def decode(path: Path) -> np.ndarray:
    """Pixels of one image's centre square, uint8 ``(128, 128, 3)``."""
    with Image.open(path) as image:
        side = min(image.size)
        left, top = (image.width - side) // 2, (image.height - side) // 2
        square = image.convert("RGB").crop((left, top, left + side, top + side))
    return np.asarray(square.resize((SIDE, SIDE), Image.Resampling.BILINEAR))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=Path, required=True, help="folder with manifest.csv")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    rows = training_rows(args.images)
    args.out.mkdir(parents=True, exist_ok=True)
    shape = (len(rows), SIDE, SIDE, 3)
    images = np.lib.format.open_memmap(args.out / "images.npy", mode="w+", dtype=np.uint8, shape=shape)
    for place, row in enumerate(rows):
        images[place] = decode(args.images / row["file"])
    images.flush()
    (args.out / "labels.json").write_text(json.dumps([[row["domain"], row["label"]] for row in rows]))
    print(f"{len(rows)} images of {len({row['domain'] for row in rows})} domains")


if __name__ == "__main__":
    main()
