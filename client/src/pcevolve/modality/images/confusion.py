"""A confusion matrix as a picture: true classes down, predicted ones across."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageDraw

CELL, MARGIN = 64, 150  # pixels
LETTERS = 20  # of a label that is shown


def confusion_png(confusion: Sequence[Sequence[int]], labels: Sequence[str]) -> bytes:
    """Draw a confusion matrix; each cell holds its share of the true class in percent, darker for more."""
    side = MARGIN + CELL * len(labels)
    picture = Image.new("RGB", (side, side), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((8, 8), "true class down,\npredicted across", fill="black")
    for row, (label, counts) in enumerate(zip(labels, confusion, strict=True)):
        place = MARGIN + row * CELL
        name = label[:LETTERS].encode("ascii", "replace").decode()  # what the built-in font can show
        draw.text((8, place + CELL // 2 - 6), name, fill="black")
        draw.text((place + 4, MARGIN - 16 * (1 + row % 3)), name, fill="black")
        for column, count in enumerate(counts):
            share = count / max(sum(counts), 1)
            tone = round(255 * (1 - share))
            left = MARGIN + column * CELL
            draw.rectangle(
                (left, place, left + CELL - 1, place + CELL - 1), (tone, tone, 255), outline="grey"
            )
            ink = "white" if share > 1 / 2 else "black"
            draw.text((left + CELL // 2 - 12, place + CELL // 2 - 6), f"{share:.0%}", fill=ink)
    out = BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()
