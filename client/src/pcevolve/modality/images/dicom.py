"""The pixels of a DICOM file, windowed to 8 bit; of its header, names included, nothing is kept.

The window is the file's own where it has one (DICOM PS3.3, C.11.2.1.2), else the whole range that its bits can
hold: never the image's own minimum and maximum, so that two pictures of one machine stay comparable.
"""

from __future__ import annotations

import io
import logging

import numpy as np
import pydicom
from numpy.typing import NDArray
from PIL import Image
from pydicom.errors import BytesLengthException, InvalidDicomError
from pydicom.pixels import apply_modality_lut, apply_windowing, convert_color_space, pixel_array

from pcevolve.modality.images.decoding import DECODE_ERRORS, DecodedImage

DARK = 16
"""Of 255: what stays below is black to the eye."""
HOW = "; export it as PNG with the viewer that shows it rightly"
_ERRORS = (*DECODE_ERRORS, ArithmeticError, AttributeError, RuntimeError, BytesLengthException)
"""Whatever pydicom and its decoders raise on damaged files and on what they do not know."""

# At DEBUG level pydicom logs what it reads, patient names included.
logging.getLogger("pydicom").setLevel(logging.ERROR)


class DicomError(Exception):
    """This file cannot be read; the text says why, to be read after its name, and quotes nothing of it."""


def decoded(data: bytes, most_pixels: int) -> DecodedImage:
    """Read one picture.

    Args:
        data: The file.
        most_pixels: Larger pictures are refused by what the header says, before any pixel is decoded.

    Returns:
        RGB, without metadata.

    Raises:
        DicomError: It has no picture, several, too large a one, or one that cannot be decoded.
    """
    try:
        header = pydicom.dcmread(io.BytesIO(data))
        _require_one_picture(header, most_pixels)
        return Image.fromarray(_shown(header)).convert("RGB")
    except InvalidDicomError:
        raise DicomError("is not a whole DICOM file; replace or remove it") from None
    except _ERRORS:
        raise DicomError(f"is DICOM that cannot be decoded here{HOW}") from None


def _require_one_picture(header: pydicom.Dataset, most_pixels: int) -> None:
    """Refuse by the header alone."""
    if "PixelData" not in header:
        raise DicomError("is DICOM without a picture; remove it")
    frames = int(header.get("NumberOfFrames") or 1)
    if frames > 1:
        raise DicomError(f"is DICOM of {frames} frames; export those that matter as files of their own")
    if header.Rows * header.Columns > most_pixels:
        raise DicomError(f"has {header.Columns}x{header.Rows} pixels, limit {most_pixels:,}; scale it down")


def _shown(header: pydicom.Dataset) -> NDArray[np.uint8]:
    """The picture as a viewer shows it, uint8 ``(rows, columns)`` or ``(rows, columns, 3)``."""
    values = pixel_array(header)
    kind = str(header.PhotometricInterpretation)
    if header.SamplesPerPixel == 3:
        if values.dtype != np.uint8:
            raise DicomError(f"is DICOM with colours of {8 * values.dtype.itemsize} bit{HOW}")
        colours = (
            values if kind in {"RGB", "YBR_RCT", "YBR_ICT"} else convert_color_space(values, kind, "RGB")
        )
        return np.asarray(colours, dtype=np.uint8)
    if kind not in {"MONOCHROME1", "MONOCHROME2"}:
        raise DicomError(f"is DICOM with a palette{HOW}")
    grey = _windowed(np.asarray(values), header)
    return 255 - grey if kind == "MONOCHROME1" else grey


def _windowed(values: NDArray[np.generic], header: pydicom.Dataset) -> NDArray[np.uint8]:
    """Grey values between 0 and 255, by the file's window or by the range of its bits.

    Raises:
        DicomError: There is no window, and without one the picture would be black.
    """
    physical = apply_modality_lut(values, header)
    ends = _range(header)
    if "WindowCenter" in header:
        return _scaled(apply_windowing(physical, header), ends)
    shown = _scaled(physical, (min(ends), max(ends)))
    if shown.max() < DARK:
        raise DicomError(
            "fills under 1/16 of its range and has no window, so it would be black; save it with one"
        )
    return shown


def _scaled(values: NDArray[np.generic], ends: tuple[float, float]) -> NDArray[np.uint8]:
    """Values between two ends, in either order, as 0 to 255."""
    shares = (np.asarray(values, dtype=np.float64) - ends[0]) / (ends[1] - ends[0])
    return np.rint(255 * np.clip(shares, 0, 1)).astype(np.uint8)


def _range(header: pydicom.Dataset) -> tuple[float, float]:
    """What the least and the greatest number that the bits can hold stand for (DICOM PS3.3, C.11.1)."""
    if header.get("ModalityLUTSequence"):
        return 0.0, float(2 ** int(header.ModalityLUTSequence[0].LUTDescriptor[2]) - 1)
    half = 2 ** (int(header.BitsStored) - 1)
    low, high = (-half, half - 1) if header.PixelRepresentation else (0, 2 * half - 1)
    slope, intercept = float(header.get("RescaleSlope", 1)), float(header.get("RescaleIntercept", 0))
    return low * slope + intercept, high * slope + intercept
