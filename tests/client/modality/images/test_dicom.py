"""DICOM files: colours as they were stored, bounded before they expand, and nothing of the header is kept or told."""

from __future__ import annotations

import io
import logging
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.modality.images.files import RejectedImageError, read_image
from support.scans import RAMP, outcome, save_scan

pydicom = pytest.importorskip("pydicom", reason="make install brings it; this environment is older")

DISC, GROUND = (200, 100, 55), (20, 10, 235)
"""RGB."""
DISC_YBR, GROUND_YBR = (125, 89, 182), (39, 239, 115)
"""These colours in YBR_FULL (DICOM PS3.3, C.7.6.3.1.2), calculated by hand."""


def disc(inside: tuple[int, int, int], outside: tuple[int, int, int]) -> np.ndarray:
    rows, columns = np.mgrid[:64, :64]
    round_ = (rows - 32) ** 2 + (columns - 32) ** 2 < 400
    return np.where(round_[..., None], inside, outside).astype(np.uint8)


RGB, YBR = disc(DISC, GROUND), disc(DISC_YBR, GROUND_YBR)


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
        ({"WindowCenter": 1, "WindowWidth": 0}, "has a window that is none: say which of .* data.window"),
        ({"WindowCenter": 1, "WindowWidth": 0.5}, "has a window that is none"),
        ({"WindowCenter": 1, "WindowWidth": 9, "VOILUTFunction": "CUBIC"}, "has a window that is none"),
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


def rewrite_elements(path: Path, elements: bytes, syntax: str = "1.2.840.10008.1.2.1.99") -> Path:
    """A file with those bytes where its elements were."""
    data = save_scan(path, RAMP * 16).read_bytes()
    start = 144 + struct.unpack_from("<L", data, 140)[0]
    head = data[:start].replace(b"1.2.840.10008.1.2.1\0", syntax.encode().ljust(22, b"\0"))
    head = head.replace(b"UI\x14\0" + syntax.encode()[:19], b"UI\x16\0" + syntax.encode()[:19])
    path.write_bytes(head + elements)
    return path


def squeeze(size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (size // 2**20)


LIMITED = """
import resource, sys, time
from pathlib import Path
from pcevolve.modality.images import dicom
from pcevolve.modality.images.files import RejectedImageError, read_image
before = resource.getrusage(resource.RUSAGE_SELF)
try:
    read_image(Path(sys.argv[1]))
except RejectedImageError as error:
    print(error)
after = resource.getrusage(resource.RUSAGE_SELF)
print((after.ru_maxrss - before.ru_maxrss) // 1024, round(after.ru_utime - before.ru_utime))
"""


def refusal(path: Path) -> tuple[str, int, float]:
    """Another process's words on a file, the MiB it took for them, and the seconds of a processor."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True
    )
    told, figures = done.stdout.splitlines()
    memory, seconds = figures.split()
    return told, int(memory), float(seconds)


@pytest.mark.system
def test_two_megabytes_that_inflate_to_two_gigabytes_are_refused_before_they_do(tmp_path):
    path = rewrite_elements(tmp_path / "x.dcm", squeeze(2**31))
    assert path.stat().st_size < 2_200_000
    told, memory, seconds = refusal(path)
    assert told == "is DICOM of more than 256 MiB when it is inflated; scale it down"
    assert memory < 150
    assert seconds <= 3


def element(tag: int, value: bytes, vr: bytes = b"LO") -> bytes:
    return struct.pack("<HH2sH", tag >> 16, tag & 0xFFFF, vr, len(value)) + value


def nest(depth: int) -> bytes:
    return struct.pack("<HH2sHL", 8, 0x1140, b"SQ", 0, 0xFFFFFFFF) + depth * (
        struct.pack("<HHL", 0xFFFE, 0xE000, 0xFFFFFFFF)
        + struct.pack("<HH2sHL", 8, 0x1140, b"SQ", 0, 0xFFFFFFFF)
    )


@pytest.mark.system
@pytest.mark.parametrize(
    ("elements", "told"),
    [
        (element(0x00090010, b"ab") * 5_000_000, "is DICOM of more elements than a picture has"),
        (nest(200_000), "is DICOM that cannot be decoded here"),
    ],
    ids=["many", "deep"],
)
def test_elements_without_end_are_refused_in_a_sentence(tmp_path, elements, told):
    said, memory, seconds = refusal(rewrite_elements(tmp_path / "x.dcm", elements, "1.2.840.10008.1.2.1"))
    assert said.startswith(told)
    assert memory < 300
    assert seconds <= 5


def encapsulate(path: Path, syntax: str, pixels: bytes, **tags: object) -> Path:
    """A grey file whose encapsulated pixels are those bytes, whatever they are."""
    from pydicom import uid

    file = pydicom.dcmread(save_scan(path, RAMP.astype(np.uint8), bits=8))
    for name, value in tags.items():
        setattr(file, name, value)
    file.file_meta.TransferSyntaxUID = getattr(uid, syntax)
    file.PixelData = pixels
    file["PixelData"].is_undefined_length = True
    file.save_as(path, enforce_file_format=True)
    return path


def items(*values: bytes) -> bytes:
    return b"".join(struct.pack("<HHL", 0xFFFE, 0xE000, len(each)) + each for each in values)


BOMB = struct.pack("<16L", 1, 64, *[0] * 14) + b"\x81\0" * 20_000_000


@pytest.mark.system
@pytest.mark.parametrize(
    ("syntax", "pixels", "told"),
    [
        ("RLELossless", items(b"", BOMB), "is DICOM that cannot be decoded here"),
        ("RLELossless", items(bytes(40_000_000), b"ab"), "is DICOM of 10000000 frames"),
        ("RLELossless", items(b"", *[b""] * 2_000_000), "is DICOM of more elements than a picture has"),
        ("JPEG2000Lossless", items(b"", jpeg_2000(RGB[..., 0], mixed=False)), "is DICOM that cannot be"),
        ("JPEGBaseline8Bit", items(b"", jpeg(RGB[..., 0])), "is DICOM that cannot be decoded"),
        ("JPEGBaseline8Bit", items(b"", jpeg(RGB[:16, :16])), "is DICOM that cannot be decoded"),
    ],
    ids=["bomb", "table", "fragments", "size", "size of a JPEG", "components"],
)
def test_compressed_frames_are_bounded_by_what_the_header_says(tmp_path, syntax, pixels, told):
    said, memory, seconds = refusal(encapsulate(tmp_path / "x.dcm", syntax, pixels))
    assert said.startswith(told)
    assert memory < 400
    assert seconds <= 5


@pytest.mark.parametrize(
    ("syntax", "pieces"),
    [
        ("JPEGBaseline8Bit", [jpeg(each[:16, :16, 0]) for each in (RGB, YBR)]),
        ("JPEG2000Lossless", [jpeg_2000(each[:16, :16, 0], mixed=False) for each in (RGB, YBR)]),
    ],
)
def test_a_second_frame_is_found_though_neither_header_nor_table_counts_it(tmp_path, syntax, pieces):
    path = encapsulate(tmp_path / "x.dcm", syntax, items(b"", *pieces))
    assert outcome(path) == "is DICOM of 2 frames; export those that matter as files of their own"
    whole = pieces[0]
    path = encapsulate(tmp_path / "y.dcm", syntax, items(b"", whole[:50], whole[50:]))
    assert outcome(path) == "16x16", "one frame in two pieces"


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
