"""Images for people to look at: small, in their places, and nothing where there is none."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageChops

from pcevolve.public.media.images.sheet import draw_confusion, draw_sheet, draw_strip, make_thumbnail

RED, BLUE = (250, 0, 0), (0, 0, 250)


def plain(colour: tuple[int, int, int], size: tuple[int, int] = (64, 64)) -> Image.Image:
    return Image.new("RGB", size, colour)


def in_file(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_a_thumbnail_is_a_small_jpeg_of_the_same_shape_and_none_of_what_is_no_image():
    small = opened(make_thumbnail(in_file(plain(RED, (400, 200)))))
    assert (small.format, small.size) == ("JPEG", (96, 48))
    assert np.abs(np.asarray(small, int) - RED).max() < 8
    assert opened(make_thumbnail(in_file(plain(RED, (8, 8))))).size == (8, 8)
    assert make_thumbnail(b"no image") is None


def test_a_strip_has_images_in_their_places_and_leaves_others_black():
    row = draw_strip([in_file(plain(RED)), b"no image", in_file(plain(BLUE))], 3, 32)
    assert row.size == (30, 10)
    assert [row.getpixel((place * 10 + 4, 4)) for place in range(3)] == [RED, (0, 0, 0), BLUE]
    assert [row.getpixel((0, y)) for y in (0, 8, 9)] == [RED, RED, (0, 0, 0)]
    assert [row.getpixel((9, y)) for y in (0, 8)] == [(0, 0, 0)] * 2  # a gap between two


def test_a_sheet_has_rows_under_their_names():
    sheet = opened(draw_sheet([("a\u202e" + "b" * 99, [plain(RED)]), ("second", [None, plain(BLUE)])]))
    assert (sheet.format, sheet.size) == ("PNG", (150 + 2 * 66, 2 * 66))
    places = [(150 + column * 66 + 32, row * 66 + 32) for row in range(2) for column in range(2)]
    white = (255, 255, 255)
    assert [sheet.getpixel(each) for each in places] == [RED, white, white, BLUE]
    names = np.asarray(sheet)[:, :150]
    assert all(names[top : top + 64].min() < 100 for top in (0, 66))


@pytest.mark.parametrize(("row", "column", "tone"), [(0, 0, 64), (0, 1, 191), (1, 0, 255), (1, 1, 255)])
def test_a_confusion_is_darker_for_more_and_has_room_for_a_class_of_nothing(row: int, column: int, tone: int):
    picture = opened(draw_confusion("cnn on run", [[3, 1], [0, 0]], ["a", "b"]))
    assert picture.size == (150 + 2 * 64,) * 2
    other = opened(draw_confusion("clip on run", [[3, 1], [0, 0]], ["a", "b"]))
    changed = np.asarray(ImageChops.difference(picture, other).getbbox())
    assert changed.max() < 100, "the title alone says whose it is"
    assert picture.getpixel((150 + column * 64 + 2, 150 + row * 64 + 2)) == (tone, tone, 255)
