"""From bytes of anybody's to pixels, and from scans and sheets of our own."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from pcevolve.public.media.images.decoding import (
    RecentImages,
    cut_tiles,
    decode_picture,
    decoding_by,
    set_on_black,
)


def test_received_bytes_are_a_picture_in_rgb_or_nothing():
    buffer = io.BytesIO()
    Image.new("L", (3, 2), 7).save(buffer, "PNG")
    found = decode_picture(buffer.getvalue())
    assert (found.mode, found.size, found.getpixel((0, 0))) == ("RGB", (3, 2), (7, 7, 7))
    assert decode_picture(buffer.getvalue()[:-20]) is None


def test_received_bytes_are_decoded_by_whom_they_are_left_to_and_no_longer():
    buffer, elsewhere = io.BytesIO(), Image.new("RGB", (5, 5))
    Image.new("RGB", (3, 2)).save(buffer, "PNG")
    with decoding_by(lambda data: elsewhere if data == buffer.getvalue() else None):
        assert decode_picture(buffer.getvalue()) is elsewhere
        assert decode_picture(b"other") is None
    assert decode_picture(buffer.getvalue()).size == (3, 2)


def test_an_image_is_decoded_once_while_it_is_recent_and_no_more_bytes_are_kept_than_allowed():
    decoded: list[bytes] = []

    def decode(data: bytes) -> Image.Image | None:
        decoded.append(data)
        return Image.new("RGB", (2, 4)) if data != b"-" else None

    recent = RecentImages(decode, 64)
    first = recent.decode(b"a")
    assert recent.decode(b"a") is first
    assert recent.decode(b"b") is recent.decode(b"b")
    recent.decode(b"c")  # 25 bytes each: the first is forgotten
    assert recent.decode(b"a") is not first
    assert [recent.decode(b"-"), recent.decode(b"-")] == [None, None]
    assert decoded == [b"a", b"b", b"c", b"a", b"-"]


def test_64_mib_of_files_and_pixels_are_kept():
    decoded: list[bytes] = []

    def decode(data: bytes) -> Image.Image:
        decoded.append(data)
        return Image.new("RGB", (2048, 2048))  # 12 MiB: five are kept, and no sixth

    recent = RecentImages(decode)
    for each in (b"1", b"2", b"3", b"4", b"5", b"1"):
        recent.decode(each)
    assert decoded == [b"1", b"2", b"3", b"4", b"5"]
    recent.decode(b"6")
    recent.decode(b"1")
    assert decoded[5:] == [b"6", b"1"]


def test_a_scan_is_enlarged_and_has_a_black_margin():
    framed = np.asarray(set_on_black(np.full((8, 8), 16.0), 16.0))
    assert framed.shape == (64, 64, 3)
    assert (framed[8:56, 8:56] == 255).all()
    assert framed.sum() == 255 * 3 * 48 * 48
    assert (np.asarray(set_on_black(np.full((8, 8), 4.0), 16.0))[8:56, 8:56] == 64).all()


def test_tiles_come_row_by_row(tmp_path):
    sheet = Image.new("RGB", (4, 4))
    for place, corner in enumerate([(0, 0), (2, 0), (0, 2), (2, 2)]):
        sheet.paste((place, place, place), (*corner, corner[0] + 2, corner[1] + 2))
    sheet.save(tmp_path / "sheet.png")
    tiles = cut_tiles(tmp_path / "sheet.png", 2)
    assert [(each.size, each.getpixel((1, 1))[0]) for each in tiles] == [
        ((2, 2), place) for place in range(4)
    ]
