"""Draws what a run began with and what it published, a row each, class beside class.

.venv/bin/python -m benchmarks.strip runs/demo docs/images/before-after.png
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from pcevolve.modality.images.decoding import picture
from pcevolve.transcript import RunLayout, RunReader

SHOWN, SIDE, GAP, RIFT = 8, 64, 3, 22


def before(run: RunReader, label: str) -> Iterator[Image.Image]:
    """The first images that the provider made of the words."""
    for call in run.require_plan().opening:
        if call.label == label:
            found = (picture(run.bodies.file(digest)) for digest in run.outputs[call.slot])
            yield from (each for each in found if each is not None)


def after(root: Path, label: str) -> Iterator[Image.Image]:
    """The first images that were published."""
    for path in sorted((RunLayout(root).release / label).glob("*.png")):
        yield Image.open(path)


def strip(root: Path) -> Image.Image:
    """Two rows of ``SHOWN`` images of each class."""
    run = RunReader.strict(root)
    labels = run.require_plan().labels
    width = len(labels) * SHOWN * (SIDE + GAP) + (len(labels) - 1) * RIFT - GAP
    drawn = Image.new("RGB", (width, 2 * SIDE + GAP), "white")
    for number, label in enumerate(labels):
        left = number * (SHOWN * (SIDE + GAP) + RIFT)
        for row, images in enumerate((before(run, label), after(root, label))):
            for place, image in zip(range(SHOWN), images, strict=False):
                at = (left + place * (SIDE + GAP), row * (SIDE + GAP))
                drawn.paste(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.LANCZOS), at)
    return drawn


def main() -> None:
    """Draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    strip(given.run).quantize(128).save(given.out, optimize=True)


if __name__ == "__main__":
    main()
