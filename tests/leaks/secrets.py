"""Private things that would be recognised anywhere."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from support.provider import SIZE
from support.runs import rng

PERSON = "Jane Canary-Doe"
FILE_NAME = "canary-jane-doe-0417.png"
UNIT = "patient-canary-0417"
EXIF = "canary GPS 52.5200 N 13.4050 E"
ALL = (PERSON, FILE_NAME, UNIT, EXIF)


def pixels() -> np.ndarray:
    """The private image, uint8 ``(SIZE, SIZE, 3)``."""
    return rng(417).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)


def list_encodings(array: np.ndarray, form: str = "PNG", **options: object) -> bytes:
    """An array as a file."""
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, form, **options)
    return buffer.getvalue()


def with_text(array: np.ndarray) -> bytes:
    """A PNG with a private name in a text chunk."""
    info = PngInfo()
    info.add_text("Comment", PERSON)
    return list_encodings(array, pnginfo=info)


def with_exif(array: np.ndarray, form: str) -> bytes:
    """A file with private EXIF."""
    exif = Image.Exif()
    exif[0x010E] = EXIF
    return list_encodings(array, form, exif=exif.tobytes())
