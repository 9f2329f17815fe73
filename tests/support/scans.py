"""DICOM files as a machine writes them, and what is read of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pcevolve.modality.images.files import RejectedImageError, read_image

RAMP = np.arange(256, dtype=np.uint16).reshape(16, 16)
NAME = "Mustermann^Erika"


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
