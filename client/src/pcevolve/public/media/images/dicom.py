"""Decode the picture of a DICOM file as a viewer shows it. Nothing else of its header, such as a name, is kept.

Colours are converted to RGB exactly once. A JPEG's marks state what its components are; without marks the header
decides. ``dicom_grey`` reads grey values. Every quantity is bounded before data are read, decoded or expanded:
the number of elements and reads, the bytes after inflation, the pixels in the header, and the size of a
compressed frame.
"""

from __future__ import annotations

import io
import logging
import struct
import zlib
from typing import Final

import numpy as np
import pydicom
from PIL import Image
from pydicom import uid
from pydicom.dataelem import DataElement, RawDataElement
from pydicom.encaps import encapsulate, generate_fragments, get_frame
from pydicom.errors import BytesLengthException, InvalidDicomError
from pydicom.multival import MultiValue
from pydicom.pixels import convert_color_space, get_decoder

from pcevolve.public.media.images.decoding import DECODE_ERRORS, DecodedImage
from pcevolve.public.media.images.dicom_grey import HOW, DicomError, read_grey
from pcevolve.public.media.images.kinds import describe_bare_dicom
from pcevolve.public.media.images.levels import Grey, Numbers, to_rgb

MOST_READS = 500_000
"""Largest number of reads of a file's elements; they take a second. A picture of one frame needs several hundred."""
MOST_ELEMENT_BYTES = 1024**2
"""Largest number of bytes of an element other than pixels. The largest look-up table has 128 KiB."""
PIECE = 65_536
"""Number of bytes that are inflated at a time. They expand to at most a thousand times as many bytes."""
_ERRORS = (*DECODE_ERRORS, ArithmeticError, AttributeError, RuntimeError, BytesLengthException)
"""All errors that pydicom and its decoders raise for damaged, unknown or too deeply nested files."""
_JPEG = (uid.JPEGBaseline8Bit, uid.JPEGExtended12Bit)
_JPEG_2000 = (uid.JPEG2000Lossless, uid.JPEG2000)
_FRAME_MARKS = (b"\xff\xd8\xff", b"\xff\x4f\xff\x51", b"\0\0\0\x0cjP")
"""First bytes of a JPEG or JPEG 2000 frame. In RLE, each fragment is a frame."""
_YBR, _RGB = frozenset({"YBR_FULL", "YBR_FULL_422"}), frozenset({"RGB", "YBR_RCT", "YBR_ICT"})
"""Colour spaces that still need conversion, and those that are already RGB after decoding."""
_PIXELS = 0x7FE00010
_OVERLAYS, _OVERLAY_BIT = range(0x6000, 0x6020, 2), 0x0102
"""Groups of overlays, and the element with the bit of each pixel that holds the overlay (C.9.2)."""
_NO_OVERLAY = DataElement((0x6000, _OVERLAY_BIT), "US", 0)
_SHARED = ("PixelValueTransformationSequence", "FrameVOILUTSequence", "PixelMeasuresSequence")
_SPACINGS = ("PixelSpacing", "ImagerPixelSpacing", "NominalScannedPixelSpacing", "PixelAspectRatio")
"""Elements with the height and width of a pixel, in order of preference (C.7.6.3.1.7, 10.7)."""
_GROUPS = ("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence")
_READ: Final = (
    *(
        "Rows",
        "Columns",
        "NumberOfFrames",
        "SamplesPerPixel",
        "PhotometricInterpretation",
        "PlanarConfiguration",
    ),
    *("BitsAllocated", "BitsStored", "HighBit", "PixelRepresentation", "PixelData", "PixelPaddingValue"),
    *("PixelPaddingRangeLimit", "RescaleSlope", "RescaleIntercept", "ModalityLUTSequence", "VOILUTSequence"),
    *("WindowCenter", "WindowWidth", "VOILUTFunction", "PresentationLUTShape", *_GROUPS, *_SPACINGS),
    "RedPaletteColorLookupTableDescriptor",
)
"""All elements that are kept while a file is decoded."""

# pydicom's errors quote the data. At DEBUG level it also logs everything that it reads, patient names included.
logging.getLogger("pydicom").setLevel(logging.CRITICAL + 1)


class _Counted(io.BytesIO):
    """A byte stream with a limit on the number of reads, which stops the parsing of millions of elements."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        if size is None or size < 0:
            raise ValueError("nobody needs all at once but who inflates it without a bound")
        if self.reads > MOST_READS:
            raise DicomError("is DICOM of more elements than a picture has; export it as PNG")
        return super().read(size)


def decode(
    data: bytes, most_pixels: int, most_bytes: int, by_itself: bool = True
) -> tuple[Grey | DecodedImage, float]:
    """Decode one picture.

    Args:
        most_pixels: A larger picture is refused by its header, before any pixel is decoded.
        most_bytes: A file that would be larger after inflation is refused before it is inflated.
        by_itself: True if grey values are shown by the file's own window or table.

    Returns:
        Grey values, or RGB without metadata; and the ratio of a pixel's height to its width.

    Raises:
        DicomError: The file has no picture, several pictures, too large a picture, or an undecodable picture.
    """
    try:
        header = _read(data, most_bytes)
        _require_one_picture(header, most_pixels)
        values, kind = _samples(header)
        values = _mask_overlays(values, header)
        colours = header.SamplesPerPixel == 3
        shown = _colours(values, kind) if colours else read_grey(values, kind, header, by_itself)
        return shown, _measure_pixel(header)
    except InvalidDicomError:
        raise DicomError("is not a whole DICOM file; replace or remove it") from None
    except _ERRORS:
        raise DicomError(f"is DICOM that cannot be decoded here{HOW}") from None


def _read(data: bytes, most_bytes: int) -> pydicom.Dataset:
    """Read the elements that a picture needs, and inflate the file within bounds."""
    data = _with_preamble(data)
    mark, plain = (each.encode() for each in (uid.DeflatedExplicitVRLittleEndian, uid.ExplicitVRLittleEndian))
    start = _dataset_start(data)
    # pydicom would inflate without a bound, so inflate here and mark the file as not deflated.
    if mark in data[:start]:
        body = _inflate(data[start:], most_bytes)
        data = data[:start].replace(mark, plain.ljust(len(mark), b"\0")) + body
    header = pydicom.dcmread(
        _Counted(data), specific_tags=[*_READ, *((group, _OVERLAY_BIT) for group in _OVERLAYS)]
    )
    for element in map(header.get_item, header.keys()):
        small = not isinstance(element, RawDataElement) or len(element.value or b"") <= MOST_ELEMENT_BYTES
        if not small and element.tag != _PIXELS:
            raise ValueError("too large for what it is")
    for group in _GROUPS:  # enhanced files store here what other files store in the header
        for name in _SHARED:
            for item in (header.get(group) or [{}])[0].get(name) or []:
                for element in item:
                    if element.tag not in header:
                        header.add(element)
    return header


def _measure_pixel(header: pydicom.Dataset) -> float:
    """Return the ratio of a pixel's height to its width."""
    for name in _SPACINGS:
        sides = header.get(name)
        if (
            isinstance(sides, MultiValue)
            and len(sides) == 2
            and all(each and float(each) > 0 for each in sides)
        ):
            return float(sides[0]) / float(sides[1])
    return 1.0


def _with_preamble(data: bytes) -> bytes:
    """Add the preamble, and if necessary the file meta information, to a file without them."""
    missing = describe_bare_dicom(data)
    if not missing:
        return data
    meta = b""
    if missing in {"explicit", "implicit"}:
        name = uid.ExplicitVRLittleEndian if missing == "explicit" else uid.ImplicitVRLittleEndian
        written = name.encode().ljust(len(name) + len(name) % 2, b"\0")
        meta = b"\2\0\x10\0UI" + struct.pack("<H", len(written)) + written
    return bytes(128) + (b"" if missing == "mark" else b"DICM") + meta + data


def _dataset_start(data: bytes) -> int:
    """Return the offset of the end of group 2, whose elements are never deflated (DICOM PS3.10, section 7.1)."""
    place = 132
    while data[place : place + 2] == b"\2\0":
        long = data[place + 4 : place + 6] in {b"OB", b"OW", b"UN", b"SQ", b"UT", b"UC", b"UR"}
        at, form = (place + 8, "<L") if long else (place + 6, "<H")
        place = at + struct.calcsize(form) + struct.unpack_from(form, data, at)[0]
    return place


def _inflate(data: bytes, most: int) -> bytes:
    """Inflate a deflated file (``DicomError`` if it is too large).

    The inflated size is counted first, so that too large a file is never in memory.
    """
    inflater, size = zlib.decompressobj(-zlib.MAX_WBITS), 0
    for start in range(0, len(data), PIECE):
        size += len(inflater.decompress(data[start : start + PIECE]))
        if size > most:
            raise DicomError(
                f"is DICOM of more than {most // 1024**2} MiB when it is inflated; scale it down"
            )
    return zlib.decompress(data, -zlib.MAX_WBITS)


def _require_one_picture(header: pydicom.Dataset, most_pixels: int) -> None:
    """Check the header, and the size of a compressed frame, before pixels are decoded."""
    if "PixelData" not in header:
        raise DicomError("is DICOM without a picture; remove it")
    if header.Rows * header.Columns > most_pixels:
        raise DicomError(f"has {header.Columns}x{header.Rows} pixels, limit {most_pixels:,}; scale it down")
    frames = max(int(header.get("NumberOfFrames") or 1), _frames_held(header))
    if frames > 1:
        raise DicomError(f"is DICOM of {frames} frames; export those that matter as files of their own")
    stored, allocated = int(header.BitsStored), int(header.BitsAllocated)
    if not 1 <= stored <= allocated or int(header.get("HighBit", stored - 1)) != stored - 1:
        raise DicomError(f"is DICOM whose bits are not where they usually are{HOW}")
    if header.SamplesPerPixel == 3 and stored != 8:
        raise DicomError(f"is DICOM with colours of {stored} bit{HOW}")


def _frames_held(header: pydicom.Dataset) -> int:
    """Count the frames in the pixel data, by the table of offsets and by the fragments, without trusting the header."""
    pixels = header.PixelData
    syntax = header.file_meta.TransferSyntaxUID
    if syntax.is_encapsulated:
        if pixels[:4] != b"\xfe\xff\x00\xe0":
            raise ValueError("no table of places")
        _, *pieces = generate_fragments(_Counted(pixels))
        begun = sum(syntax == uid.RLELossless or piece.startswith(_FRAME_MARKS) for piece in pieces)
        return int(max(int.from_bytes(pixels[4:8], "little") // 4, begun))
    bits = header.Rows * header.Columns * header.SamplesPerPixel * header.BitsAllocated
    bits = bits * 2 // 3 if header.PhotometricInterpretation == "YBR_FULL_422" else bits
    filled_up = 8 * len(pixels) - bits < 16  # padded to whole words
    return 1 if filled_up else 8 * len(pixels) // bits


def _samples(header: pydicom.Dataset) -> tuple[Numbers, str]:
    """Return the first frame's values, ``(rows, columns)`` or ``(rows, columns, 3)``, and their kind (C.7.6.3.1.2)."""
    syntax = header.file_meta.TransferSyntaxUID
    try:
        decoder = get_decoder(syntax)
    except NotImplementedError:
        raise DicomError(f"is DICOM that is compressed in a way that is not known here{HOW}") from None
    twelve = syntax == uid.JPEGExtended12Bit and header.BitsStored > 8
    if not decoder.is_available or twelve:
        raise DicomError(
            f"is DICOM compressed as {syntax.name}, which nothing here decodes; decompress it, such as by gdcmconv "
            "--raw IN.dcm OUT.dcm"
        )
    if not syntax.is_encapsulated:
        return _of_decoder(header, "")
    frame = get_frame(_Counted(header.PixelData), 0, number_of_frames=1)
    if syntax in _JPEG:
        return _of_jpeg(frame, header)
    header.PixelData = encapsulate([frame])
    if syntax == uid.RLELossless:
        _require_no_more_than_declared(frame, header.Rows * header.Columns)
        return _of_decoder(header, "pydicom")
    if syntax not in _JPEG_2000:
        return _of_decoder(header, "")
    _open_frame(frame, "JPEG2000", header)
    values, kind = _of_decoder(header, "pillow")
    return values, "RGB" if header.SamplesPerPixel == 3 and _mixes_components(frame) else kind


def _mask_overlays(values: Numbers, header: pydicom.Dataset) -> Numbers:
    """Mask the bits above grey values, where old files store overlays (``DicomError`` if other bits are set).

    For uncompressed pixels and RLE, pydicom has already removed them.
    """
    stored = int(header.BitsStored)
    half = 2 ** (stored - 1)
    low, high = (-half, half - 1) if header.PixelRepresentation else (0, 2 * half - 1)
    if values.ndim != 2 or (values.min() >= low and values.max() <= high):
        return values
    if not any(
        int(header.get((group, _OVERLAY_BIT), _NO_OVERLAY).value or 0) >= stored for group in _OVERLAYS
    ):
        raise DicomError(f"is DICOM with values of more than the {stored} bits that it says{HOW}")
    values = values & (2 * half - 1)
    return np.where(values >= half, values - 2 * half, values) if header.PixelRepresentation else values


def _of_decoder(header: pydicom.Dataset, plugin: str) -> tuple[Numbers, str]:
    """Decode with pydicom, without its colour conversion, because this module converts colours exactly once."""
    decoder = get_decoder(header.file_meta.TransferSyntaxUID)
    values, found = decoder.as_array(header, index=0, raw=True, decoding_plugin=plugin)
    return values, str(found["photometric_interpretation"])


def _open_frame(frame: bytes, kind: str, header: pydicom.Dataset) -> DecodedImage:
    """Open a compressed frame without decoding it, and check its size against the header."""
    image = Image.open(io.BytesIO(frame), formats=(kind,))
    if image.size != (header.Columns, header.Rows):
        raise ValueError("the frame is not as large as the header says")
    return image


def _of_jpeg(frame: bytes, header: pydicom.Dataset) -> tuple[Numbers, str]:
    """Return the components of a JPEG, converted to RGB as its marks state; without marks as the header states."""
    image = _open_frame(frame, "JPEG", header)
    if len(image.getbands()) != header.SamplesPerPixel:
        raise ValueError("the frame has not as many components as the header says")
    letters = [each[0] for each in getattr(image, "layer", [])] in ([82, 71, 66], [114, 103, 98])
    marked = "jfif" in image.info or "adobe_transform" in image.info or letters
    if header.SamplesPerPixel == 3 and header.PhotometricInterpretation == "RGB" and not marked:
        image.draft("YCbCr", None)  # keep the components: without marks, Pillow would convert them from YCbCr
    values = np.asarray(image)
    signed = header.SamplesPerPixel == 1 and header.PixelRepresentation
    kind = "RGB" if header.SamplesPerPixel == 3 else str(header.PhotometricInterpretation)
    return values.view(np.int8) if signed else values, kind


def _mixes_components(frame: bytes) -> bool:
    """True if JPEG 2000 data state that decoding turns their components into RGB (ISO 15444-1, A.6.1)."""
    place = frame.find(b"\xff\x4f\xff\x51") + 2
    while frame[place : place + 2] not in {b"\xff\x52", b"\xff\x90", b""}:
        place += 2 + int.from_bytes(frame[place + 2 : place + 4], "big")
    return frame[place : place + 2] == b"\xff\x52" and frame[place + 8] == 1


def _require_no_more_than_declared(frame: bytes, pixels: int) -> None:
    """Refuse RLE data that expand to more pixels than the header states. They are counted before any is expanded."""
    segments, *starts = struct.unpack_from("<16L", frame)
    for start, end in zip(starts[:segments], [*starts[1:segments], len(frame)], strict=True):
        size, place = 0, start
        # A segment holds one byte per pixel; the limit leaves room for padding.
        if end - start > 2 * pixels + 64:
            raise ValueError("a segment is longer than its pixels could make it")
        while place < end:
            run = frame[place]
            size += 257 - run if run > 128 else run + 1 if run < 128 else 0
            place += 2 if run > 128 else run + 2 if run < 128 else 1
            if size > 2 * pixels + 64:
                raise ValueError("a segment expands to more than its pixels")


def _colours(values: Numbers, kind: str) -> DecodedImage:
    """Convert 8-bit components to RGB (``DicomError`` for colour spaces that no current device writes)."""
    values = np.asarray(values).astype(np.uint8)
    if kind in _YBR:
        values = convert_color_space(values, "YBR_FULL", "RGB")
    elif kind not in _RGB:
        raise DicomError(f"is DICOM with colours of a kind that is not known here{HOW}")
    return to_rgb(np.asarray(values, dtype=np.uint8))
