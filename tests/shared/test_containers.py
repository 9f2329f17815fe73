"""What the outside of a file declares is checked before a pixel is decoded."""

from __future__ import annotations

import struct
import time
import zlib

import pytest
from PIL import Image

from pcevolve_shared import containers, images
from pcevolve_shared.images import ImageError
from support.pngs import FORMATS, picture, raw_png, save


@pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF", "ICO"])
def test_other_formats_are_refused(kind):
    with pytest.raises(ImageError, match="not a PNG, JPEG or WebP"):
        images.decode(save(picture(), kind))


@pytest.mark.parametrize("kind", FORMATS)
def test_every_truncation_is_refused(kind):
    data = save(picture(), kind)
    for length in range(len(data) - 1):
        with pytest.raises(ImageError, match=r"truncated|damaged|not a PNG"):
            images.decode(data[:length])


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_animations_are_refused(kind):
    data = save(picture(), kind, save_all=True, append_images=[picture()])
    with pytest.raises(ImageError, match="animated"):
        images.decode(data)


def test_a_second_picture_behind_the_first_is_not_read():
    first, second = picture(), picture(48, 48)
    assert images.decode(save(first, "JPEG") + save(second, "JPEG")).size == first.size


def test_a_jpeg_whose_scans_take_an_hour_is_refused_and_the_most_that_are_taken_cost_seconds():
    # Of one grey: a scan is 33 bytes, and costs 9 ms; half a million of them fit into the largest file.
    data = save(Image.new("RGB", (4096, 4096), "grey"), "JPEG", progressive=True, subsampling=0)
    start = data.rindex(b"\xff\xda")
    scan, own = data[start:-2], data.count(b"\xff\xda")
    assert len(scan) == 33
    began = time.process_time()
    with pytest.raises(ImageError, match="too many scans"):
        images.decode(data[:-2] + scan * ((LARGEST - len(data)) // 33) + b"\xff\xd9")
    assert time.process_time() - began < 5
    assert images.decode(data[:-2] + scan * (64 - own) + b"\xff\xd9").size == (4096, 4096)
    assert time.process_time() - began < 30


LARGEST = 16 * 2**20
IDAT = b"\0\0\0\0IDAT" + zlib.crc32(b"IDAT").to_bytes(4, "big")
ENDLESS = {
    "restarts outside of a scan": (b"\xff\xd8\xff\xd0", b"\xff\xd0", "damaged"),
    "comments of no length": (b"\xff\xd8", b"\xff\xfe\x00\x02", "too many parts"),
    "a scan of stuffed zeros": (b"\xff\xd8\xff\xda\x00\x02", b"\xff\x00", "truncated"),
    "filling": (b"\xff\xd8", b"\xff", "truncated"),
    "chunks without pixels": (raw_png(8, 8, b"")[: 8 + 25], IDAT, "too many parts"),
    "unknown chunks": (
        b"RIFF" + (LARGEST - 8).to_bytes(4, "little") + b"WEBP",
        b"ABCD\0\0\0\0",
        "too many parts",
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_parts_without_end_are_refused_at_once(name):
    start, part, reason = ENDLESS[name]
    data = (start + part * (LARGEST // len(part)))[:LARGEST]
    began = time.process_time()
    with pytest.raises(ImageError, match=reason):
        images.decode(data)
    assert time.process_time() - began < 1


def test_a_webp_whose_canvas_and_frame_disagree_is_refused():
    data = bytearray(save(picture().convert("RGBA"), "WEBP", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0"))
    assert data[12:16] == b"VP8X"
    data[24] += 1
    with pytest.raises(ImageError, match="damaged"):
        images.decode(bytes(data))


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (b"VP8 ", bytes(6) + struct.pack("<HH", 0x4000 | 300, 0x8000 | 200)),  # with how to scale it
        (b"VP8L", b"\x2f" + struct.pack("<I", 299 | 199 << 14 | 1 << 28)),  # and that it has an alpha
        (b"VP8X", bytes(4) + (299).to_bytes(3, "little") + (199).to_bytes(3, "little")),
    ],
)
def test_a_webp_declares_its_size_in_three_ways(name, body):
    chunk = name + len(body).to_bytes(4, "little") + body
    data = b"RIFF" + (4 + len(chunk)).to_bytes(4, "little") + b"WEBP" + chunk
    header = containers.read(data + b"more")
    assert (header.width, header.height, header.payload) == (300, 200, data)


@pytest.mark.parametrize("marker", [0x01, 0xD0, 0xD7, 0xD8])
def test_a_marker_without_a_length_outside_of_a_scan_is_damage(marker):
    with pytest.raises(ImageError, match="damaged"):
        containers.read(b"\xff\xd8\xff" + bytes([marker]) + b"\0\2\xff\xd9")
