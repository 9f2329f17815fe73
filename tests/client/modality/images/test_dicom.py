"""DICOM files: shown in their own window, bounded by their header, and nothing of the header is kept or told."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import numpy as np
import pytest

from pcevolve.modality.images.files import RejectedImageError, read_image

pydicom = pytest.importorskip("pydicom", reason="make install brings it; this environment is older")

RAMP = np.arange(256, dtype=np.uint16).reshape(16, 16)
NAME = "Mustermann^Erika"


def saved(path: Path, values: np.ndarray, photometric: str = "MONOCHROME2", bits: int = 12, **tags) -> Path:
    """A file as a machine writes it."""
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = (
        SecondaryCaptureImageStorage,
        generate_uid(),
    )
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    file = Dataset()
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


def greys(path: Path) -> np.ndarray:
    return np.asarray(read_image(path)[0])[..., 0]


def test_values_without_a_window_are_scaled_by_the_range_of_their_bits(tmp_path):
    half = greys(saved(tmp_path / "half.dcm", RAMP * 8))
    full = greys(saved(tmp_path / "full.dcm", RAMP * 16))
    assert full.max() == 254
    assert np.abs(half * 2.0 - full).max() <= 2, "not by what else is in the image"


def test_a_window_says_what_is_black_and_what_is_white(tmp_path):
    shown = greys(saved(tmp_path / "x.dcm", RAMP, WindowCenter=100, WindowWidth=101))
    assert (shown[RAMP < 50] == 0).all()
    assert (shown[RAMP > 150] == 255).all()
    assert abs(int(shown[RAMP == 100][0]) - 128) <= 2


def test_a_window_is_in_the_units_of_the_rescaled_values(tmp_path):
    tags = {"RescaleSlope": 1, "RescaleIntercept": -1024, "WindowCenter": -924, "WindowWidth": 101}
    shown = greys(saved(tmp_path / "x.dcm", RAMP, **tags))
    assert (shown[RAMP < 50] == 0).all()
    assert (shown[RAMP > 150] == 255).all()


def test_signed_values_and_the_inverted_kind_are_shown_as_viewers_do(tmp_path):
    signed = (RAMP.astype(np.int16) - 128) * 16
    shown = greys(saved(tmp_path / "x.dcm", signed))
    inverted = greys(saved(tmp_path / "y.dcm", signed, photometric="MONOCHROME1"))
    assert shown.ravel()[0] == 0
    assert (shown.astype(int) + inverted == 255).all()


def test_colours_stay_as_they_are(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    image, _ = read_image(saved(tmp_path / "x.dcm", pixels, photometric="RGB", bits=8))
    assert np.array_equal(np.asarray(image), pixels)


def test_colours_of_more_than_8_bit_are_refused_and_not_wrapped_around(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 65_536, (5, 7, 3), dtype=np.uint16)
    with pytest.raises(RejectedImageError, match="is DICOM with colours of 16 bit; export it as PNG"):
        read_image(saved(tmp_path / "x.dcm", pixels, photometric="RGB", bits=16))


def plain(path: Path) -> bytes:
    tags = {"RescaleSlope": 1, "RescaleIntercept": -1024, "WindowCenter": 924, "WindowWidth": 4101}
    return saved(path, RAMP * 16, **tags).read_bytes()


def deflated(path: Path) -> bytes:
    plain(path)
    file = pydicom.dcmread(path)
    file.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    file.save_as(path, enforce_file_format=True)
    return path.read_bytes()


def outcome(path: Path) -> str:
    """The size of what is shown, or why nothing is."""
    try:
        return "{}x{}".format(*read_image(path)[0].size)
    except RejectedImageError as error:
        return str(error)


@pytest.mark.parametrize("made", [plain, deflated])
def test_a_file_cut_off_anywhere_is_a_picture_or_a_clear_error(tmp_path, made):
    path = tmp_path / "x.dcm"
    data = made(path)
    assert outcome(path) == "16x16"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert re.match("16x16$|is ", outcome(path)), length


def test_damaged_compression_is_told_as_what_it_is(tmp_path):
    path = tmp_path / "x.dcm"
    data = bytearray(deflated(path))
    data[144 + pydicom.dcmread(path).file_meta.FileMetaInformationGroupLength] = 0xFF
    path.write_bytes(data)
    assert outcome(path).startswith("is DICOM that cannot be decoded here; export it as PNG")


def test_a_file_without_a_suffix_is_read_by_its_mark(tmp_path):
    assert greys(saved(tmp_path / "IM000001", RAMP * 16)).shape == (16, 16)


def test_nothing_of_the_header_is_kept_told_or_logged(tmp_path, caplog, recwarn):
    caplog.set_level(logging.DEBUG)
    whole = saved(tmp_path / "x.dcm", RAMP * 16)
    image, _ = read_image(whole)
    assert image.info == {}
    data = whole.read_bytes()
    told = [str(vars(image))]
    for cut in range(140, len(data), 37):
        whole.write_bytes(data[:cut])
        try:
            read_image(whole)
        except RejectedImageError as error:
            told.append(f"{error} {error.__cause__} {error.__context__.__class__}")
    assert len(told) > 5
    assert not any("Mustermann" in each for each in (*told, caplog.text, *map(str, recwarn)))


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        ({"NumberOfFrames": 2}, "is DICOM of 2 frames; export those that matter"),
        ({"Rows": 30_000, "Columns": 30_000}, "has 30000x30000 pixels, limit 64,000,000; scale it down"),
        ({"PhotometricInterpretation": "PALETTE COLOR"}, "is DICOM with a palette; export it as PNG"),
        ({"Rows": 17}, "is DICOM that cannot be decoded here; export it as PNG"),
        ({"WindowCenter": 1, "WindowWidth": 0}, "is DICOM that cannot be decoded here"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_way_to_convert_it(tmp_path, tags, told):
    with pytest.raises(RejectedImageError, match=told):
        read_image(saved(tmp_path / "x.dcm", RAMP * 16, **tags))


def test_a_picture_that_would_be_black_is_refused(tmp_path):
    with pytest.raises(RejectedImageError, match="has no window, so it would be black"):
        read_image(saved(tmp_path / "x.dcm", RAMP // 2))
