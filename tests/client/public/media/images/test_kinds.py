"""Which kind of file it is, told by how it begins."""

from __future__ import annotations

import struct

import pytest

from pcevolve.public.media.images.kinds import FileKind, advise, tell_kind
from support.pictures import disc, expect_refusal, tiff


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><title>404</title>", "is a web page under the name of an image"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
        (b"a note\n", "is named like an image but contains text"),
        (bytes(1000), "is damaged or not an image"),
        (
            tiff(disc(9, 1).astype("<f8"), sign=3),
            "is TIFF of 64-bit floating-point values which are not read; save",
        ),
        (
            tiff(disc(9, 1).astype("<i2"), sign=2, photometric=0),
            "16-bit signed values, white as zero, which are",
        ),
        (
            tiff(disc(9, 1).astype("<u1")).replace(
                struct.pack("<HHLL", 259, 4, 1, 1), struct.pack("<HHLL", 259, 4, 1, 34712)
            ),
            "is TIFF compressed in a way that is not read; save it with LZW",
        ),
        (tiff(disc(9, 1).astype("<u2"))[:90], "is damaged or not an image"),
    ],
)
def test_what_is_no_picture_is_told_as_what_it_is(tmp_path, data, told):
    (tmp_path / "x.jpg").write_bytes(data)
    expect_refusal(tmp_path / "x.jpg", told)


HEIC = b"\0\0\0\x18ftypheic\0\0\0\0"


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("a.png", b"", FileKind.IMAGE),
        ("A.JPG", b"no image at all", FileKind.IMAGE),
        ("a.gif", b"GIF89a", FileKind.IMAGE),
        ("IM000001", bytes(128) + b"DICM", FileKind.IMAGE),
        ("notes.txt", b"seen on Monday\r\n", FileKind.NOTES),
        ("notes.txt", b"", FileKind.NOTES),
        ("notes.txt", "größer".encode("latin-1"), FileKind.NOTES),
        ("README", b"# Scans", FileKind.NOTES),
        ("boxes.json", b"{}", FileKind.NOTES),
        ("notes.txt", b"\x89PNG\r\n\x1a\n\0", FileKind.IMAGE),
        ("photo.jfif", b"\xff\xd8\xff\xe0\0\x10JFIF", FileKind.IMAGE),
        ("photo.JPG_large", b"\xff\xd8\xff\xe0\0\x10JFIF", FileKind.IMAGE),
        ("photo.jpe", b"\xff\xd8\xff\xe1\0\x18Exif", FileKind.IMAGE),
        ("photo", b"RIFF\0\0\0\0WEBP", FileKind.IMAGE),
        ("scan.001", b"II*\0\x08\0\0\0", FileKind.IMAGE),
        ("bits", b"BM\x46\0\0\0", FileKind.IMAGE),
        ("film", b"GIF89a\0", FileKind.IMAGE),
        ("table.csv", b"BMI,age\n20,30\n", FileKind.NOTES),
        ("a.jpg.off", b"\xff\xd8\xff\xe0\0\x10JFIF", FileKind.NOTES),
        ("a.PNG.bak", b"\x89PNG\r\n\x1a\n\0", FileKind.NOTES),
        ("a.off", b"\xff\xd8\xff\xe0\0\x10JFIF", FileKind.IMAGE),
        ("photo.dng", b"II*\0\x08\0\0\0", FileKind.OTHER),
        ("photo.cr2", b"II*\0\x10\0\0\0CR", FileKind.OTHER),
        ("drawing.svg", b"<svg/>", FileKind.OTHER),
        ("P3.ppm", b"P3\n1 1\n255\n0 0 0", FileKind.OTHER),
        ("a.heic", HEIC, FileKind.OTHER),
        ("photo", HEIC, FileKind.OTHER),
        ("scan.nii.gz", b"\x1f\x8b", FileKind.OTHER),
    ],
)
def test_what_may_be_an_image_is_never_passed_over(name, head, kind):
    assert tell_kind(name, head) is kind


@pytest.mark.parametrize(
    ("name", "head", "told"),
    [
        ("a.heic", b"", "is HEIC: convert it, such as by heif-convert photo.heic photo.png"),
        ("photo", HEIC, "is HEIC: convert it"),
        ("scan.nii.gz", b"", "is an archive: unpack it"),
        ("scan.nii", b"", "is a volume: export its slices as PNG"),
        ("a.pdf", b"", "export what it shows as PNG"),
        ("a.psd", b"", "magick photo.xyz photo.png"),
        ("blob", b"\0", "is not a PNG, JPEG, TIFF, BMP, WebP, GIF or DICOM image: convert or remove it"),
    ],
)
def test_what_cannot_be_read_is_told_with_the_way_to_convert_it(name, head, told):
    assert told in advise(name, head)
