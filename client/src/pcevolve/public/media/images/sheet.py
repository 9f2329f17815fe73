"""Images for people: thumbnails, strips, sheets, and confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageDraw, ImageOps

from pcevolve.public.media.images.appearance import Appearance, develop
from pcevolve.public.media.images.decoding import DecodedImage

LONGEST_SIDE = 96  # pixels; pages show thumbnails at 64, so they are sharp on dense screens
JPEG_QUALITY = 80
SIDE, GAP, NAME = 64, 2, 150  # pixels: side of an image, gap between images, and width of a name
LETTERS = 22  # most characters of a name
CELL, MARGIN = 64, 150  # pixels of a confusion matrix
LABEL_LETTERS, TITLE_LETTERS = 20, 40  # most characters of a label and of a title


def make_thumbnail(data: bytes, wanted: Appearance | None = None) -> bytes | None:
    """Make a small JPEG of received bytes, with an appearance if one is given; None for an undecodable image."""
    image = develop(data, wanted)
    if image is None:
        return None
    small = image.copy()
    small.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    return _encode(small, "JPEG", quality=JPEG_QUALITY, optimize=True)


def draw_strip(several: Sequence[bytes], places: int, width: int) -> Image.Image:
    """Draw images side by side in one small picture for a terminal. An undecodable image leaves a gap."""
    side = width // places
    row = Image.new("RGB", (side * places, side))
    for place, data in enumerate(several):
        image = develop(data, None)
        if image is not None:
            small = ImageOps.contain(image, (side - 1, side - 1), Image.Resampling.LANCZOS)
            row.paste(small, (place * side, 0))
    return row


def draw_sheet(rows: Sequence[tuple[str, Sequence[DecodedImage | None]]]) -> bytes:
    """Draw rows of images, each row after its name. An undecodable image leaves a gap."""
    across = max((len(images) for _, images in rows), default=0)
    sheet = Image.new("RGB", (NAME + across * (SIDE + GAP), len(rows) * (SIDE + GAP)), "white")
    draw = ImageDraw.Draw(sheet)
    for row, (name, images) in enumerate(rows):
        top = row * (SIDE + GAP)
        draw.text((6, top + SIDE // 2 - 6), _shorten(name, LETTERS), fill="black")
        for place, image in enumerate(images):
            if image is not None:
                small = ImageOps.contain(image, (SIDE, SIDE), Image.Resampling.LANCZOS)
                sheet.paste(small, (NAME + place * (SIDE + GAP), top))
    return _encode(sheet, "PNG")


def draw_confusion(title: str, confusion: Sequence[Sequence[int]], labels: Sequence[str]) -> bytes:
    """Draw a confusion matrix under a title. Cells hold percentages of the true class; higher ones are darker."""
    side = MARGIN + CELL * len(labels)
    picture = Image.new("RGB", (side, side), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((8, 8), f"{_shorten(title, TITLE_LETTERS)}\ntrue class down, predicted across", fill="black")
    for row, (label, counts) in enumerate(zip(labels, confusion, strict=True)):
        place = MARGIN + row * CELL
        name = _shorten(label, LABEL_LETTERS)
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
    return _encode(picture, "PNG")


def _shorten(name: str, letters: int) -> str:
    """Shorten a name, and replace characters that the built-in font lacks."""
    return name[:letters].encode("ascii", "replace").decode()


def _encode(image: DecodedImage, form: str, **how: object) -> bytes:
    buffer = BytesIO()
    image.save(buffer, form, **how)
    return buffer.getvalue()
