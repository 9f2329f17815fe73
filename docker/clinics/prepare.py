"""Make owners for a demonstration, if they are not there: ten blood cells a class and a key for each, and the roster.

python prepare.py ROSTER FOLDER NAME...     (an owner's images and key: FOLDER/NAME/images, FOLDER/NAME/own.key)
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from pcevolve.keeper.clinics.keys import OwnerKey
from pcevolve.keeper.private.bundled import load_cells
from pcevolve.public.config.data_source import CELLS

SHOTS = 10
NAMES = {kind: f"type {place}" for place, kind in enumerate(CELLS, 1)}
"""That say nothing to the provider."""


def prepare(roster: Path, folder: Path, names: list[str]) -> None:
    """Write all of it; the roster last, whose presence says that all is there."""
    cells, _ = load_cells(SHOTS * len(names), NAMES)
    keys = {name: OwnerKey.new() for name in names}
    for place, (name, key) in enumerate(keys.items()):
        for target, label in enumerate(cells.labels):
            images = folder / name / "images" / label
            images.mkdir(parents=True)
            rows = (cells.targets == target).nonzero()[0][place * SHOTS : (place + 1) * SHOTS]
            for number, row in enumerate(rows):
                cells.items[row].save(images / f"{number:02}.png")
        key.save(folder / name / "own.key")
    write_roster(roster, {name: key.public for name, key in keys.items()})


def write_roster(path: Path, owners: Mapping[str, str]) -> None:
    """Write a roster of owners, each with its public key."""
    lines = [f"classes = {sorted(NAMES.values())!r}"]
    for name, key in owners.items():
        lines += ["[[owner]]", f'name = "{name}"', f"shots = {SHOTS}", f'key = "{key}"']
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    made, given = Path(sys.argv[1]), sys.argv[2:]
    if not made.exists():
        prepare(made, Path(given[0]), given[1:])
