"""Make owners for a demonstration, if they are not there: ten blood cells a class and a key for each, and the roster.

python prepare.py ROSTER FOLDER NAME...     (an owner's images and key: FOLDER/NAME/images, FOLDER/NAME/own.key)
"""

from __future__ import annotations

import sys
from pathlib import Path

from pcevolve.keeper.clinics.keys import OwnerKey
from pcevolve.keeper.private.bundled import load_cells
from pcevolve.public.sources import CELLS

SHOTS = 10
NAMES = {kind: f"type {place}" for place, kind in enumerate(CELLS, 1)}
"""That say nothing to the provider."""


def prepare(roster: Path, folder: Path, names: list[str]) -> None:
    """Write all of it; the roster last, whose presence says that all is there."""
    cells, _ = load_cells(SHOTS * len(names), NAMES)
    lines = [f"classes = {[*cells.labels]!r}"]
    for place, name in enumerate(names):
        own = folder / name
        for target, label in enumerate(cells.labels):
            (own / "images" / label).mkdir(parents=True)
            rows = (cells.targets == target).nonzero()[0][place * SHOTS : (place + 1) * SHOTS]
            for number, row in enumerate(rows):
                cells.items[row].save(own / "images" / label / f"{number:02}.png")
        key = OwnerKey.new()
        key.save(own / "own.key")
        lines += ["[[owner]]", f'name = "{name}"', f"shots = {SHOTS}", f'key = "{key.public}"']
    roster.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    made, given = Path(sys.argv[1]), sys.argv[2:]
    if not made.exists():
        prepare(made, Path(given[0]), given[1:])
