"""Draws what a run began with, in no order, and below it what it published, a row for each class.

.venv/bin/python -m benchmarks.strip docs/images/before-after.png

It runs the demonstration first where ``--run`` does not hold a finished one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from PIL import Image

from benchmarks.rows import parser_of
from pcevolve.app.first.demo import demonstrate
from pcevolve.public.media.images.decoding import decode_picture
from pcevolve.public.processes.launcher import start_children
from pcevolve.public.transcript.layout import RunLayout
from pcevolve.public.transcript.reader import RunReader

SHOWN, SIDE, GAP, RIFT = 14, 64, 3, 18
ABOVE = 2
"""Rows of what a run began with."""


def before(run: RunReader) -> Iterator[Image.Image]:
    """The provider's first images, of one class after the other in turn."""
    plan = run.require_plan()
    by_label = (
        [digest for call in plan.opening if call.label == label for digest in run.outputs[call.slot]]
        for label in plan.labels
    )
    mixed = (each for turn in zip_longest(*by_label) for each in turn if each is not None)
    found = (decode_picture(run.bodies.file(digest)) for digest in mixed)
    yield from (each for each in found if each is not None)


def after(root: Path, label: str) -> Iterator[Image.Image]:
    """The images of a class that were published."""
    for path in sorted((RunLayout(root).release / label).glob("*.png")):
        yield Image.open(path)


def strip(root: Path) -> Image.Image:
    """``ABOVE`` rows of ``SHOWN`` images as they came, and a row of ``SHOWN`` for each class."""
    run = RunReader.strict(root)
    labels, first = run.require_plan().labels, before(run)
    above = [[image for image, _ in zip(first, range(SHOWN), strict=False)] for _ in range(ABOVE)]
    below = [[image for image, _ in zip(after(root, label), range(SHOWN), strict=False)] for label in labels]
    height = (ABOVE + len(labels)) * (SIDE + GAP) - GAP + RIFT
    drawn = Image.new("RGB", (SHOWN * (SIDE + GAP) - GAP, height), "white")
    _paste(drawn, above, 0)
    _paste(drawn, below, ABOVE * (SIDE + GAP) + RIFT)
    return drawn


def _paste(drawn: Image.Image, rows: Sequence[Iterable[Image.Image]], top: int) -> None:
    for row, images in enumerate(rows):
        for place, image in enumerate(images):
            small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.LANCZOS)
            drawn.paste(small, (place * (SIDE + GAP), top + row * (SIDE + GAP)))


def main() -> None:
    """Draw."""
    parser = parser_of(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--run", type=Path, default=Path("runs/demo"))
    given = parser.parse_args()
    demonstrate(given.run, start_children())
    strip(given.run).quantize(192).save(given.out, optimize=True)


if __name__ == "__main__":
    main()
