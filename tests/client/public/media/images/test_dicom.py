"""DICOM files: what is shown and what is refused, cut off anywhere, and nothing of the header is kept or told."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import numpy as np
import pytest

from pcevolve.public.media.images.files import RejectedImageError, read_image
from support.scans import RAMP, RGB, jpeg_2000, outcome, save_scan

pydicom = pytest.importorskip("pydicom", reason="make install brings it; this environment is older")


def plain(path: Path) -> bytes:
    tags = {"RescaleSlope": 1, "RescaleIntercept": -1024, "WindowCenter": 924, "WindowWidth": 4101}
    return save_scan(path, RAMP * 16, **tags).read_bytes()


def deflate(path: Path) -> bytes:
    plain(path)
    file = pydicom.dcmread(path)
    file.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    file.save_as(path, enforce_file_format=True)
    return path.read_bytes()


@pytest.mark.parametrize("made", [plain, deflate])
def test_a_file_cut_off_anywhere_is_a_picture_or_a_clear_error(tmp_path, made):
    path = tmp_path / "x.dcm"
    data = made(path)
    assert outcome(path) == "16x16"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert re.match("16x16$|is ", outcome(path)), length


def test_damaged_compression_is_told_as_what_it_is(tmp_path):
    path = tmp_path / "x.dcm"
    data = bytearray(deflate(path))
    data[144 + pydicom.dcmread(path).file_meta.FileMetaInformationGroupLength] = 0xFF
    path.write_bytes(data)
    assert outcome(path).startswith("is DICOM that cannot be decoded here; export it as PNG")


def test_nothing_of_the_header_is_kept_told_or_logged(tmp_path, caplog, recwarn):
    caplog.set_level(logging.DEBUG)
    whole = save_scan(tmp_path / "x.dcm", RAMP * 16)
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
        ({"RedPaletteColorLookupTableDescriptor": [256, 0, 16]}, "is DICOM with a palette; export it as PNG"),
        ({"Rows": 17}, "is DICOM that cannot be decoded here; export it as PNG"),
        ({"WindowCenter": 1, "WindowWidth": 0}, "has an invalid window: say which of .* data.window"),
        ({"WindowCenter": 1, "WindowWidth": 0.5}, "has an invalid window"),
        ({"WindowCenter": 1, "WindowWidth": 9, "VOILUTFunction": "CUBIC"}, "has an invalid window"),
        ({"RescaleSlope": 0, "RescaleIntercept": 5}, "is DICOM with a rescale slope of 0"),
        ({"HighBit": 15}, "is DICOM whose bits are not where they usually are"),
        ({"SamplesPerPixel": 2, "PlanarConfiguration": 0}, "is DICOM"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_way_to_convert_it(tmp_path, tags, told):
    assert re.match(told, outcome(save_scan(tmp_path / "x.dcm", RAMP * 16, **tags)))


@pytest.mark.filterwarnings("ignore:The value:UserWarning")
def test_nothing_but_the_picture_may_be_large(tmp_path):
    large = np.tile(RAMP * 16, (50, 50))
    assert outcome(save_scan(tmp_path / "x.dcm", large)) == "800x800"
    found = outcome(save_scan(tmp_path / "y.dcm", RAMP * 16, VOILUTFunction="X" * 2**21))
    assert found.startswith("is DICOM that cannot be decoded here")


LOW = (np.arange(64)[None] // 2 + 0 * RGB[..., 0]).astype(np.uint8)
"""Values of 5 bits."""
DRAWN = LOW | np.where(RGB[..., 0] == 200, 0xE0, 0).astype(np.uint8)
"""The same with a drawing in the bits above."""


def test_drawings_in_the_bits_above_a_pixel_s_own_are_no_part_of_the_picture(tmp_path):
    path = save_scan(tmp_path / "x.dcm", LOW, bits=5)
    clean, digest = np.asarray(read_image(path)[0]), read_image(path)[1]
    assert (clean.min(), clean.max()) == (0, 255)
    for name, overlaid in (("native", False), ("jpeg 2000", True), ("undeclared", False)):
        path = save_scan(tmp_path / "y.dcm", DRAWN, bits=5)
        if name != "native":
            file = pydicom.dcmread(path)
            if overlaid:
                file.add_new((0x6002, 0x0102), "US", 5)
            file.file_meta.TransferSyntaxUID = pydicom.uid.JPEG2000Lossless
            file.PixelData = pydicom.encaps.encapsulate([jpeg_2000(DRAWN, mixed=False)])
            file["PixelData"].is_undefined_length = True
            file.save_as(path)
        if name == "undeclared":
            assert outcome(path).startswith(
                "is DICOM with values of more than the 5 bits that it says; export it"
            )
        else:
            assert np.array_equal(np.asarray(read_image(path)[0]), clean), name
            assert read_image(path)[1] == digest


def test_signed_values_lose_no_sign_with_the_bits_above_them(tmp_path):
    path = save_scan(tmp_path / "x.dcm", RAMP.astype(np.int16) * 8 - 1024, bits=12)
    clean = np.asarray(read_image(path)[0])
    dirty = (((RAMP * 8).astype(np.int32) - 1024) & 0x0FFF | 0x1000).astype(np.uint16).view(np.int16)
    assert np.array_equal(np.asarray(read_image(save_scan(path, dirty, bits=12))[0]), clean)


@pytest.mark.parametrize(
    ("tags", "size"),
    [
        ({"PixelSpacing": [2, 1]}, "64x128"),
        ({"PixelSpacing": ["0.5", "1.0"]}, "128x64"),
        ({"ImagerPixelSpacing": [1, 3]}, "192x64"),
        ({"NominalScannedPixelSpacing": [1.5, 1]}, "64x96"),
        ({"PixelAspectRatio": [2, 1]}, "64x128"),
        ({"PixelSpacing": [1, 1], "PixelAspectRatio": [2, 1]}, "64x64"),
        ({"PixelSpacing": [0.4, 0.401]}, "64x64"),
        ({"PixelSpacing": [0, 1]}, "64x64"),
        ({"PixelSpacing": 1}, "64x64"),
    ],
)
def test_pixels_that_are_not_square_are_made_so(tmp_path, tags, size):
    assert outcome(save_scan(tmp_path / "x.dcm", RGB, "RGB", bits=8, **tags)) == size
    group, measures = pydicom.Dataset(), pydicom.Dataset()
    for name, value in tags.items():
        setattr(measures, name, value)
    group.PixelMeasuresSequence = [measures]
    path = save_scan(tmp_path / "y.dcm", RGB, "RGB", bits=8, SharedFunctionalGroupsSequence=[group])
    assert outcome(path) == size
