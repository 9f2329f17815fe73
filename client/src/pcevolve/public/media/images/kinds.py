"""Determine a file's kind from its name and first bytes: image, notes next to images, or neither."""

from __future__ import annotations

from enum import Enum
from pathlib import PurePath

from pcevolve_shared.reading import FETCH_LFS, LFS_POINTER

HEAD_BYTES = 4096
"""Number of bytes that are read if a file's name does not determine its kind."""
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif", ".dcm", ".dicom"})
READ = "PNG, JPEG, TIFF, BMP, WebP, GIF or DICOM"
"""The readable formats, in words."""
SET_ASIDE = frozenset({".off", ".bak", ".old", ".orig", ".disabled", ".tmp", ".part", ".partial"})
"""Suffixes after an image's name that mark a file as set aside, or as not completely copied."""
HEIC = "is HEIC: convert it, such as by heif-convert photo.heic photo.png"
_ADVICE = {
    HEIC: {".heic", ".heif"},
    "is a drawing or document: export what it shows as PNG": {".svg", ".pdf", ".eps", ".ps", ".ai"},
    "is a volume: export its slices as PNG": {".nii", ".mha", ".mhd", ".nrrd", ".npy", ".npz", ".hdr"},
    "is an archive: unpack it": {".zip", ".gz", ".tar", ".tgz", ".bz2", ".xz", ".7z", ".rar"},
    "is a spreadsheet: export it as CSV in UTF-8": {".xlsx", ".xls", ".ods"},
    "is a film: export the frames that matter as PNG": {".mp4", ".avi", ".mov", ".mkv", ".webm", ".mpg"},
    "is an image of a kind that is not read: convert it, such as by magick photo.xyz photo.png": {
        *(".avif", ".jxl", ".jp2", ".j2k", ".psd", ".xcf", ".ico", ".tga", ".xpm", ".xbm", ".hdp", ".exr"),
        *(".ppm", ".pgm", ".pbm", ".pnm", ".raw", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".rw2"),
    },
}
_BY_SUFFIX = {suffix: advice for advice, suffixes in _ADVICE.items() for suffix in suffixes}
_HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
_DICOM_PREAMBLE = 128  # bytes before the mark DICM
_FIRST_OF_GROUP_8 = tuple(bytes((8, 0, element, 0)) for element in (0x00, 0x01, 0x05, 0x08, 0x12, 0x14, 0x16))
_LONGEST_FIRST = 128  # most bytes of the first element of group 8
_MARKS = {
    "PNG": (b"\x89PNG\r\n\x1a\n",),
    "JPEG": (b"\xff\xd8\xff",),
    "TIFF": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    "GIF": (b"GIF87a", b"GIF89a"),
}
"""First bytes of files, by format."""


class FileKind(Enum):
    """A file's role in a folder of images."""

    IMAGE = "an image, to be read or to be refused by whoever reads it"
    NOTES = "text beside the images, or an image that was put away, to be passed over"
    OTHER = "something that cannot be read, and may be an image"


def tell_kind(name: str, head: bytes) -> FileKind:
    """Return the kind of a file.

    Args:
        name: The file's name. If its suffix is that of an image or of another known format, the suffix decides,
            because a camera's raw file, for example, begins like a TIFF.
        head: The file's first ``HEAD_BYTES`` bytes.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix in SUFFIXES:
        return FileKind.IMAGE
    if suffix in SET_ASIDE and PurePath(PurePath(name).stem).suffix.lower() in SUFFIXES:
        return FileKind.NOTES
    if suffix in _BY_SUFFIX:
        return FileKind.OTHER
    if tell_format(head):
        return FileKind.IMAGE
    return FileKind.NOTES if _is_text(head) else FileKind.OTHER


def tell_format(head: bytes) -> str:
    """Return the readable image format that a file's first bytes indicate; empty for any other file."""
    if is_dicom(head):
        return "DICOM"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP"
    if head[:2] == b"BM" and not _is_text(head):
        return "BMP"
    return next((name for name, marks in _MARKS.items() if head.startswith(marks)), "")


def tell_other_format(head: bytes) -> str:
    """Return the unsupported image format that a file's first bytes indicate; empty for any other file."""
    if head[4:8] == b"ftyp":
        return "HEIC" if is_heic(head) else "AVIF" if head[8:12] in (b"avif", b"avis") else ""
    if head.startswith((b"\xff\x0a", b"\0\0\0\x0cJXL ")):
        return "JPEG XL"
    found = tell_format(head)
    return found if found in ("GIF", "TIFF", "BMP") else ""


def describe_misnamed(head: bytes) -> str:
    """Describe a file that has an image's name but does not begin like an image, to follow its name."""
    if not head:
        return "is empty (0 bytes): copy or download it again"
    if is_heic(head):
        return HEIC
    if head[4:8] == b"ftyp":
        return (
            "is AVIF or a film under the name of an image: convert it, such as by magick photo.avif photo.png"
        )
    if _is_web_page(head):
        return "is a web page under the name of an image, such as an error that was saved: download it again"
    if head.startswith(LFS_POINTER):
        return FETCH_LFS
    if head.startswith((b"%PDF", b"PK\x03\x04")):
        return "is a PDF or an archive under the name of an image: export or unpack what it holds"
    if _is_text(head) and not tell_format(head):
        return "is named like an image but contains text; replace or remove it"
    return "is damaged or not an image; replace or remove it"


def describe_misnamed_table(head: bytes) -> str:
    """Describe a file that has a table's name but does not begin like a table; empty for any other file."""
    if head.startswith(LFS_POINTER):
        return FETCH_LFS
    if _is_web_page(head):
        return "is a web page under the name of a table, such as an error that was saved: download it again"
    if head.startswith((b"PK\x03\x04", b"\x1f\x8b", b"\xd0\xcf\x11\xe0")):
        return "is a spreadsheet or packed under the name of a table: unpack it, or export it as CSV in UTF-8"
    return ""


def _is_web_page(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head"))


def advise(name: str, head: bytes) -> str:
    """Return advice on a file that is neither an image nor notes. Messages print it after the file's name."""
    if is_heic(head):
        return HEIC
    return advise_by_name(name) or f"is not a {READ} image: convert or remove it"


def advise_by_name(name: str) -> str:
    """Advise on a file by its name alone; empty if the name does not determine its format."""
    return _BY_SUFFIX.get(PurePath(name).suffix.lower(), "")


def is_dicom(head: bytes) -> bool:
    """True if bytes begin like a DICOM file, with or without its preamble (DICOM PS3.10, section 7.1)."""
    return head[_DICOM_PREAMBLE : _DICOM_PREAMBLE + 4] == b"DICM" or describe_bare_dicom(head) != ""


def describe_bare_dicom(head: bytes) -> str:
    """Describe the beginning of DICOM data that lack the preamble, or more; empty for any other data.

    Returns:
        ``mark`` or ``group 2`` if the data begin there; ``explicit`` or ``implicit`` if they begin with group 8,
        by the encoding of its first element.
    """
    if head[:6] in (b"DICM\2\0", b"\2\0\0\0UL"):
        return "mark" if head[:4] == b"DICM" else "group 2"
    if head[:4] not in _FIRST_OF_GROUP_8:
        return ""
    if head[4:6] in (b"CS", b"UI", b"UL", b"DA", b"LO"):
        return "explicit"
    return "implicit" if head[5:8] == b"\0\0\0" and head[4] <= _LONGEST_FIRST and head[4] % 2 == 0 else ""


def is_heic(head: bytes) -> bool:
    """True if bytes begin like a HEIC file (ISO/IEC 23008-12)."""
    return head[4:8] == b"ftyp" and head[8:12] in _HEIC_BRANDS


def _is_text(head: bytes) -> bool:
    """True if bytes are text in an ASCII-compatible encoding, which has no control characters except whitespace."""
    return not set(head) & (set(range(32)) - set(b"\t\n\r\f"))
