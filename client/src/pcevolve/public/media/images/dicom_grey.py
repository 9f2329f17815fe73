"""Read the grey values of a DICOM file, and how the file states that they are shown (DICOM PS3.3).

A table in the file (VOI LUT) maps the values. Without a table, the file's first window maps them (C.11.2). Without
either, the full range of their bits is mapped.
"""

from __future__ import annotations

import numpy as np
import pydicom
from numpy.typing import NDArray
from pydicom.pixels import apply_windowing

from pcevolve.public.media.images.levels import WAY_OUT, Grey, Numbers, Shares, place_between

HOW = "; export it as PNG with the viewer that shows it rightly"


class DicomError(Exception):
    """The file cannot be read. The message, worded to follow the file's name, quotes nothing from the file."""


def read_grey(values: Numbers, kind: str, header: pydicom.Dataset, by_itself: bool) -> Grey:
    """Return grey values and the file's mapping for them (``DicomError`` if the picture is not grey)."""
    # A palette next to grey values colours only some of them, such as values of flow (C.7.6.23).
    if kind == "PALETTE COLOR" or "RedPaletteColorLookupTableDescriptor" in header:
        raise DicomError(f"is DICOM with a palette{HOW}")
    if kind not in {"MONOCHROME1", "MONOCHROME2"} or header.SamplesPerPixel != 1:
        raise DicomError(f"is DICOM with colours of a kind that is not known here{HOW}")
    physical = _physical(values, header)
    low, high = _range(header)
    return Grey(
        stored=values,
        values=physical,
        bits=int(header.BitsStored),
        whole=(min(low, high), max(low, high)),
        own=_apply_own(physical, header) if by_itself else None,
        inverted=kind == "MONOCHROME1" or header.get("PresentationLUTShape") == "INVERSE",
        padding=_mark_padding(values, header),
    )


def _physical(values: Numbers, header: pydicom.Dataset) -> NDArray[np.float64]:
    """Convert values to the file's units (C.11.1)."""
    if header.get("ModalityLUTSequence"):
        return _look_up(values, header.ModalityLUTSequence[0], header)[0]
    slope, intercept = _read_rescale(header)
    return values.astype(np.float64) * slope + intercept


def _read_rescale(header: pydicom.Dataset) -> tuple[float, float]:
    """Return slope and intercept, by default 1 and 0 (``DicomError`` if the slope is 0)."""
    slope, intercept = _first(header, "RescaleSlope"), _first(header, "RescaleIntercept")
    slope, intercept = 1.0 if slope is None else slope, intercept or 0.0
    if not slope:
        raise DicomError(f"is DICOM with a rescale slope of 0{HOW}")
    return slope, intercept


def _first(header: pydicom.Dataset, name: str) -> float | None:
    """Return the first number of an element; None if it is absent or empty (``ValueError`` if it is not finite)."""
    value = header.get(name)
    if isinstance(value, pydicom.multival.MultiValue):
        value = value[0] if len(value) else None
    if value is None or value == "":
        return None
    if not np.isfinite(float(value)):
        raise ValueError("not a number")
    return float(value)


def _apply_own(physical: NDArray[np.float64], header: pydicom.Dataset) -> Shares | None:
    """Return shares of white by the file's table, otherwise by its first window; None without either."""
    tables = [
        item for item in header.get("VOILUTSequence") or [] if "LUTData" in item and "LUTDescriptor" in item
    ]
    if tables:
        entries, bits = _look_up(physical, tables[0], header)
        return place_between(entries, (0.0, 2.0**bits - 1))
    if _first(header, "WindowCenter") is None or _first(header, "WindowWidth") is None:
        return None
    shown = pydicom.Dataset()  # of one bit, so that pydicom maps the values to [0, 1]
    shown.BitsStored, shown.PixelRepresentation, shown.PhotometricInterpretation = 1, 0, "MONOCHROME2"
    shown.add(header["WindowCenter"])
    shown.add(header["WindowWidth"])
    if header.get("VOILUTFunction"):  # an empty function means LINEAR, which pydicom does not know
        shown.add(header["VOILUTFunction"])
    try:
        return np.asarray(apply_windowing(physical, shown))
    except ValueError:
        raise DicomError(f"has an invalid window: {WAY_OUT}") from None


def _look_up(
    values: Numbers, item: pydicom.Dataset, header: pydicom.Dataset
) -> tuple[NDArray[np.float64], int]:
    """Look up values in a table, and return them with the bits of the table's entries (C.11.1.1 and C.11.2.1.1).

    pydicom 3.0 cannot be used. Its ``apply_voi`` stores table indices in as many bits as the table's entries have,
    so that 4,096 entries of 8 bits become 256. Its ``apply_modality_lut`` does not support entries of 12 bits. Neither
    function supports a negative first value that is stored as unsigned, or packed bytes.
    """
    entries, first, bits = (int(each) for each in item.LUTDescriptor)
    entries = entries or 2**16
    if first > 2**15 - 1 and (header.PixelRepresentation or values.min() < 0):
        first -= 2**16
    data = item.LUTData
    if isinstance(data, bytes):
        order = "<" if header.file_meta.TransferSyntaxUID.is_little_endian else ">"
        data = np.frombuffer(data, dtype=f"{order}u2" if len(data) >= 2 * entries else "u1")
    table = np.asarray(data, dtype=np.float64)[:entries]
    return table[np.clip(np.rint(values) - float(first), 0, len(table) - 1).astype(np.int64)], bits


def _range(header: pydicom.Dataset) -> tuple[float, float]:
    """Return the values of the least and greatest number that the stored bits can represent (C.11.1)."""
    if header.get("ModalityLUTSequence"):
        return 0.0, float(2 ** int(header.ModalityLUTSequence[0].LUTDescriptor[2]) - 1)
    half = 2 ** (int(header.BitsStored) - 1)
    low, high = (-half, half - 1) if header.PixelRepresentation else (0, 2 * half - 1)
    slope, intercept = _read_rescale(header)
    return low * slope + intercept, high * slope + intercept


def _mark_padding(values: Numbers, header: pydicom.Dataset) -> NDArray[np.bool_] | None:
    """Return a mask of padding values (C.7.5.1.1.2); None if the file defines none."""
    one = _first(header, "PixelPaddingValue")
    if one is None:
        return None
    other = _first(header, "PixelPaddingRangeLimit")
    ends = (one, one if other is None else other)
    return np.asarray((values >= min(ends)) & (values <= max(ends)))
