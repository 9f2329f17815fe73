"""Colours of DICOM files are those that were stored, whatever they are stored as."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from pcevolve.public.media.images.files import read_image
from support.scans import DISC, GROUND, RGB, YBR, jpeg, jpeg_2000, outcome, save_scan

pydicom = pytest.importorskip("pydicom", reason="make install brings it; this environment is older")


def colour(path: Path, syntax: str, photometric: str, pixels: bytes, planar: int = 0) -> Path:
    """A colour file under any transfer syntax, with what its pixels are called."""
    from pydicom import uid
    from pydicom.encaps import encapsulate

    file = pydicom.Dataset()
    for each in pydicom.dcmread(save_scan(path, RGB, photometric=photometric, bits=8)):
        file.add(each)
    file.PlanarConfiguration = planar
    file.file_meta = pydicom.dcmread(path).file_meta
    file.file_meta.TransferSyntaxUID = wanted = getattr(uid, syntax)
    file.PixelData = encapsulate([pixels]) if wanted.is_encapsulated else pixels
    file["PixelData"].VR = "OB"
    file.save_as(path, enforce_file_format=True)
    return path


@pytest.mark.parametrize("syntax", ["JPEGLosslessSV1", "JPEGLSLossless", "HTJ2K", "JPEGExtended12Bit"])
def test_what_nothing_here_decompresses_is_said_by_its_name_with_the_way(tmp_path, syntax):
    path = colour(tmp_path / "x.dcm", syntax, "MONOCHROME2", b"\xff\xd8")
    file = pydicom.dcmread(path)
    file.SamplesPerPixel, file.BitsAllocated, file.BitsStored, file.HighBit = 1, 16, 12, 11
    file.save_as(path)
    assert re.match("is DICOM compressed as .* which nothing here decodes; .* gdcmconv", outcome(path))


def test_colours_of_more_than_8_bit_are_refused_and_not_wrapped_around(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 65_536, (9, 9, 3), dtype=np.uint16)
    found = outcome(save_scan(tmp_path / "x.dcm", pixels, photometric="RGB", bits=16))
    assert found.startswith("is DICOM with colours of 16 bit; export it as PNG")


def native(values: np.ndarray, planar: int) -> bytes:
    return values.transpose(2, 0, 1).tobytes() if planar else values.tobytes()


def subsample(values: np.ndarray) -> bytes:
    """YBR_FULL_422 without compression: two brightnesses, then the two colours of both."""
    pairs = values.reshape(-1, 2, 3)
    return np.stack([pairs[:, 0, 0], pairs[:, 1, 0], pairs[:, 0, 1], pairs[:, 0, 2]], axis=1).tobytes()


def runs(values: np.ndarray) -> bytes:
    """RLE (DICOM PS3.5, annex G): a segment for each component, of runs of two."""
    segments = []
    for channel in range(3):
        pairs = values[..., channel].reshape(-1, 2)
        literal = b"".join(b"\x01" + pair.tobytes() for pair in pairs)
        segments.append(literal + b"\0" * (len(literal) % 2))
    starts = np.cumsum([64, *map(len, segments)])[:3].tolist()
    return struct.pack("<16L", 3, *starts, *[0] * 12) + b"".join(segments)


def encode_unmarked(values: np.ndarray) -> bytes:
    """A JPEG of components as they are, under numbers for names, without a word on what they are."""
    data = jpeg(values, marked=False, keep_rgb=True)
    for letter, number in zip(b"RGB", b"\1\2\3", strict=True):
        for rest in (b"\x11\0", b"\0"):
            data = data.replace(bytes([letter]) + rest, bytes([number]) + rest)
    return data


NATIVE = ["ImplicitVRLittleEndian", "ExplicitVRLittleEndian", "ExplicitVRBigEndian"]
NATIVE += ["DeflatedExplicitVRLittleEndian"]
COLOURS = [
    *((syntax, "RGB", native(RGB, planar), planar, 0) for syntax in NATIVE for planar in (0, 1)),
    *((syntax, "YBR_FULL", native(YBR, planar), planar, 2) for syntax in NATIVE for planar in (0, 1)),
    *((syntax, "YBR_FULL_422", subsample(YBR), 0, 2) for syntax in NATIVE),
    *(
        (NATIVE[1], kind, native(RGB, 0), 0, 0) for kind in ("YBR_RCT", "YBR_ICT")
    ),  # left by who decompressed it
    *(("RLELossless", "RGB", runs(RGB), planar, 0) for planar in (0, 1)),
    *(("RLELossless", kind, runs(YBR), 0, 2) for kind in ("YBR_FULL", "YBR_FULL_422")),
    *(
        (syntax, kind, pixels, planar, 4)
        for syntax in ("JPEGBaseline8Bit", "JPEGExtended12Bit")
        for planar in (0, 1)
        for kind, pixels in (
            ("YBR_FULL_422", jpeg(RGB, subsampling="4:2:2")),
            ("YBR_FULL_422", jpeg(RGB, marked=False, subsampling="4:2:2")),
            ("YBR_FULL", jpeg(RGB, subsampling="4:4:4")),
            ("YBR_FULL", jpeg(RGB, marked=False, subsampling="4:4:4")),
            ("RGB", jpeg(RGB)),  # whose JFIF mark says that it is none
            ("RGB", jpeg(RGB, keep_rgb=True)),  # Adobe's mark, and letters for names
            ("YBR_FULL_422", jpeg(RGB, keep_rgb=True)),
            ("YBR_FULL_422", jpeg(RGB, marked=False, keep_rgb=True)),  # letters alone
            ("RGB", encode_unmarked(RGB)),
            ("YBR_FULL", encode_unmarked(YBR)),
        )
    ),
    ("JPEG2000Lossless", "YBR_RCT", jpeg_2000(RGB, mixed=True), 0, 0),
    ("JPEG2000Lossless", "RGB", jpeg_2000(RGB, mixed=True), 0, 0),
    ("JPEG2000Lossless", "RGB", jpeg_2000(RGB, mixed=False), 0, 0),
    ("JPEG2000Lossless", "YBR_FULL", jpeg_2000(YBR, mixed=False), 0, 2),
    ("JPEG2000Lossless", "YBR_FULL", jpeg_2000(RGB, mixed=True), 0, 0),
    ("JPEG2000", "YBR_ICT", jpeg_2000(RGB, mixed=True, lossless=False), 0, 4),
    ("JPEG2000", "RGB", jpeg_2000(RGB, mixed=False, lossless=False), 0, 4),
]


@pytest.mark.parametrize(("syntax", "photometric", "pixels", "planar", "off"), COLOURS)
def test_colours_are_those_that_were_stored_whatever_they_are_stored_as(
    tmp_path, syntax, photometric, pixels, planar, off
):
    shown = np.asarray(read_image(colour(tmp_path / "x.dcm", syntax, photometric, pixels, planar))[0])
    assert np.abs(shown[32, 32].astype(int) - DISC).max() <= off
    assert np.abs(shown[2, 2].astype(int) - GROUND).max() <= off


@pytest.mark.parametrize("missing", ["preamble", "mark", "meta"])
@pytest.mark.parametrize("syntax", ["ImplicitVRLittleEndian", "ExplicitVRLittleEndian"])
@pytest.mark.parametrize("first", ["SpecificCharacterSet", "ImageType", "SOPClassUID"])
def test_data_without_what_belongs_before_them_are_read(tmp_path, missing, syntax, first):
    made = colour(tmp_path / "x.dcm", syntax, "RGB", native(RGB, 0))
    file = pydicom.dcmread(made)
    if first != "SOPClassUID":
        file.SpecificCharacterSet, file.ImageType = "ISO_IR 100", ["ORIGINAL", "PRIMARY"]
    if first == "ImageType":
        del file.SpecificCharacterSet
    file.save_as(made)
    data = made.read_bytes()
    start = {"preamble": 128, "mark": 132, "meta": 144 + int.from_bytes(data[140:144], "little")}[missing]
    (tmp_path / "y").write_bytes(data[start:])
    assert np.array_equal(np.asarray(read_image(tmp_path / "y")[0]), RGB)
