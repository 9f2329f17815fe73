"""Images for people to look at: thumbnails, strips, sheets, and a table of confusions."""

from __future__ import annotations

import io
from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageDraw, ImageOps

from pcevolve.modality.images.appearance import Appearance, develop
from pcevolve.modality.images.decoding import DecodedImage

LONGEST_SIDE = 96  # pixels; pages show it at 64, sharp on dense screens
JPEG_QUALITY = 80


def thumbnail(data: bytes, wanted: Appearance | None = None) -> bytes | None:
    """Make a small JPEG of received bytes.

    Args:
        data: What a provider sent.
        wanted: The appearance that it is given before; None for none.

    Returns:
        The encoded picture; None for what is not an image within the wire's limits.
    """
    image = develop(data, wanted)
    if image is None:
        return None
    small = image.copy()
    small.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return buffer.getvalue()


def strip(several: Sequence[bytes], places: int, width: int) -> Image.Image:
    """Images side by side in one small picture, as a terminal shows it; what is no image leaves its place empty.

    Args:
        several: What a provider sent, at most ``places``.
        places: How many squares there are.
        width: Pixels of the whole picture.
    """
    side = width // places
    row = Image.new("RGB", (side * places, side))
    for place, data in enumerate(several):
        image = develop(data, None)
        if image is not None:
            small = ImageOps.contain(image, (side - 1, side - 1), Image.Resampling.LANCZOS)
            row.paste(small, (place * side, 0))
    return row


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


CELL, MARGIN = 64, 150  # pixels
LABEL_LETTERS = 20  # of a label that is shown


def confusion_png(confusion: Sequence[Sequence[int]], labels: Sequence[str]) -> bytes:
    """Draw a confusion matrix; each cell holds its share of the true class in percent, darker for more."""
    side = MARGIN + CELL * len(labels)
    picture = Image.new("RGB", (side, side), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((8, 8), "true class down,\npredicted across", fill="black")
    for row, (label, counts) in enumerate(zip(labels, confusion, strict=True)):
        place = MARGIN + row * CELL
        name = label[:LABEL_LETTERS].encode("ascii", "replace").decode()  # what the built-in font can show
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
