"""Rows of images under names, as one picture: datasets side by side."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageDraw, ImageOps

from pcevolve.modality.images.decoding import DecodedImage

SIDE, GAP, NAME = 64, 2, 150  # pixels
LETTERS = 22  # of a name that is shown


def sheet_png(rows: Sequence[tuple[str, Sequence[DecodedImage | None]]]) -> bytes:
    """Draw rows of images, each under its name; what is no image leaves its place empty.

    Args:
        rows: Names, and images of any size.
    """
    across = max((len(images) for _, images in rows), default=0)
    sheet = Image.new("RGB", (NAME + across * (SIDE + GAP), len(rows) * (SIDE + GAP)), "white")
    draw = ImageDraw.Draw(sheet)
    for row, (name, images) in enumerate(rows):
        top = row * (SIDE + GAP)
        shown = name[:LETTERS].encode("ascii", "replace").decode()  # what the built-in font can show
        draw.text((6, top + SIDE // 2 - 6), shown, fill="black")
        for place, image in enumerate(images):
            if image is not None:
                small = ImageOps.contain(image, (SIDE, SIDE), Image.Resampling.LANCZOS)
                sheet.paste(small, (NAME + place * (SIDE + GAP), top))
    out = BytesIO()
    sheet.save(out, "PNG")
    return out.getvalue()
