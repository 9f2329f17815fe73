"""DICOM files as a machine writes them, and what is read of them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
from PIL import Image

from pcevolve.public.media.images.files import RejectedImageError, read_image

RAMP = np.arange(256, dtype=np.uint16).reshape(16, 16)
NAME = "Mustermann^Erika"
DISC, GROUND = (200, 100, 55), (20, 10, 235)
"""RGB."""
DISC_YBR, GROUND_YBR = (125, 89, 182), (39, 239, 115)
"""These colours in YBR_FULL (DICOM PS3.3, C.7.6.3.1.2), calculated by hand."""


def disc(inside: tuple[int, int, int], outside: tuple[int, int, int]) -> np.ndarray:
    rows, columns = np.mgrid[:64, :64]
    round_ = (rows - 32) ** 2 + (columns - 32) ** 2 < 400
    return np.where(round_[..., None], inside, outside).astype(np.uint8)


RGB, YBR = disc(DISC, GROUND), disc(DISC_YBR, GROUND_YBR)


def save_scan(
    path: Path, values: np.ndarray, photometric: str = "MONOCHROME2", bits: int = 12, **tags
) -> Path:
    """A file as a machine writes it."""
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

    meta, file = FileMetaDataset(), Dataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = (
        SecondaryCaptureImageStorage,
        generate_uid(),
    )
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    file.file_meta, file.PatientName, file.PatientID = meta, NAME, "007"
    file.SOPClassUID, file.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    file.PhotometricInterpretation = photometric
    file.SamplesPerPixel = values.shape[2] if values.ndim == 3 else 1
    if values.ndim == 3:
        file.PlanarConfiguration = 0
    file.Rows, file.Columns = values.shape[:2]
    file.BitsAllocated, file.BitsStored = 8 * values.dtype.itemsize, bits
    file.HighBit, file.PixelRepresentation = bits - 1, int(values.dtype.kind == "i")
    for name, value in tags.items():
        setattr(file, name, value)
    file.PixelData = values.tobytes()
    file.save_as(path, enforce_file_format=True)
    return path


def outcome(path: Path) -> str:
    """The size of what is shown, or why nothing is."""
    try:
        return "{}x{}".format(*read_image(path)[0].size)
    except RejectedImageError as error:
        return str(error)


def jpeg(values: np.ndarray, marked: bool = True, **how: object) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(values).save(buffer, "JPEG", quality=98, **how)
    marks = rb"\xff[\xe0\xee]..(JFIF|Adobe)(?s:.*?)(?=\xff\xdb)"
    return buffer.getvalue() if marked else re.sub(marks, b"", buffer.getvalue(), count=1)


def jpeg_2000(values: np.ndarray, mixed: bool, lossless: bool = True) -> bytes:
    buffer = io.BytesIO()
    layers = {} if lossless else {"quality_mode": "rates", "quality_layers": [2]}
    Image.fromarray(values).save(
        buffer, "JPEG2000", irreversible=not lossless, mct=int(mixed), no_jp2=True, **layers
    )
    return buffer.getvalue()
