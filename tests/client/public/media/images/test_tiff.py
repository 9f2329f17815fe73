"""A TIFF that holds more than its first page shows is refused with the way out; one that holds no more is shown."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from PIL import Image

from pcevolve.public.media.images.files import read_image
from support.pictures import disc, expect_refusal, greys, tiff

PICTURE = disc(200, 20, np.uint8)
OTHER = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
IMAGEJ = "ImageJ=1.54f\nimages={}\nslices={}\n"


def stack(*planes):
    return np.stack(planes, axis=-1)


def with_sub_pages(pages, tags=(), listed=("L", 330)):
    """A TIFF whose first page has other pages within it, each with its tags."""
    at = 8 + PICTURE.nbytes
    behind, places = b"", []
    for values, own in pages:
        page = tiff(values, tags=own, place=at + len(behind))
        directory = len(page) - 6 - 12 * (10 + len(own))
        places.append(at + len(behind) + directory)
        behind += page
    return tiff(PICTURE, tags=[*tags, (listed[1], (listed[0], *places))], behind=behind)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            tiff(PICTURE, behind=OTHER.tobytes(), tags=[(270, ("s", IMAGEJ.format(2, 2).encode()))]),
            "2 planes",
        ),
        (tiff(PICTURE, tags=[(270, ("s", IMAGEJ.format(30, 30).encode()))]), "30 planes"),
        (tiff(PICTURE.astype("<u2") * 257, behind=bytes(5 * 8192)), "6 planes"),
        (tiff(PICTURE, behind=OTHER.tobytes(), order=">"), "2 planes"),
        (tiff(PICTURE, behind=OTHER.tobytes(), tags=[(270, ("s", b'{"shape": [2, 64, 64]}'))]), "2 planes"),
        (tiff(PICTURE, tags=[(270, ("s", b'{"shape": [3, 64, 64]}'))]), "3 planes"),
        (tiff(PICTURE, behind=OTHER.tobytes(), tags=[(279, ("L", 2 * 4096))]), "2 planes"),
        (tiff(PICTURE, tags=[(32997, ("L", 5))]), "5 planes"),
        (tiff(stack(PICTURE, OTHER, PICTURE), photometric=2, behind=bytes(3 * 4096)), "2 planes"),
        (
            tiff(stack(PICTURE, OTHER)),
            "has 2 channels, 1 beside colours and transparency; save those that matter",
        ),
        (tiff(stack(PICTURE, OTHER), tags=[(338, ("H", 0))]), "has 2 channels, 1 beside"),
        (tiff(stack(PICTURE, OTHER).astype("<u2")), "has 2 channels, 1 beside"),
        (tiff(stack(PICTURE, OTHER, PICTURE)), "has 3 channels, 2 beside"),
        (tiff(stack(*[PICTURE] * 3, OTHER), photometric=2), "has 4 channels, 1 beside"),
        (
            tiff(stack(*[PICTURE] * 3, OTHER), photometric=2, tags=[(338, ("H", 0))]),
            "has 4 channels, 1 beside",
        ),
        (
            tiff(stack(*[PICTURE] * 3, OTHER, OTHER), photometric=2, tags=[(338, ("H", 2, 0))]),
            "has 5 channels, 2",
        ),
        (
            tiff(stack(*[PICTURE] * 8), photometric=2, tags=[(338, ("H", *[0] * 5))]),
            "has 8 channels, 5 beside",
        ),
        (
            tiff(stack(*[PICTURE] * 4, OTHER), photometric=5, tags=[(338, ("H", 0))]),
            "has 5 channels, 1 beside",
        ),
        (
            tiff(PICTURE, tags=[(254, ("L", 1))]),
            "begins with a reduced preview of its picture; save the whole",
        ),
        (
            tiff(PICTURE, tags=[(255, ("H", 2))]),
            "begins with a reduced preview of its picture; save the whole",
        ),
        (tiff(PICTURE, tags=[(254, ("L", 4))]), "is TIFF of a mask of another picture; remove it"),
        (
            with_sub_pages([(np.tile(PICTURE, (2, 2)), ())]),
            "holds pages within its first page that are no previews",
        ),
        (with_sub_pages([(OTHER, ())]), "holds pages within its first page that are no previews"),
        (with_sub_pages([(OTHER[:32, :32], ()), (OTHER, ())]), "holds pages within its first page"),
    ],
)
def test_what_the_first_page_does_not_show_is_refused_with_the_way_out(tmp_path, data, told):
    (tmp_path / "x.tif").write_bytes(data)
    expect_refusal(tmp_path / "x.tif", told)


@pytest.mark.parametrize(
    "data",
    [
        tiff(PICTURE),
        tiff(PICTURE, order=">"),
        tiff(PICTURE, tags=[(270, ("s", IMAGEJ.format(1, 1).encode()))]),
        tiff(PICTURE, tags=[(270, ("s", b'{"shape": [64, 64]}'))]),
        tiff(PICTURE, tags=[(270, ("s", b"scanned; images=40 in this series")), (305, ("s", b"x" * 9000))]),
        tiff(PICTURE, behind=bytes(2500)),
        tiff(PICTURE, tags=[(34665, ("L", 4096 + 8))], behind=bytes(30_000)),
        tiff(stack(PICTURE, PICTURE, PICTURE), photometric=2),
        tiff(stack(*[PICTURE] * 3, np.full_like(PICTURE, 255)), photometric=2, tags=[(338, ("H", 2))]),
        tiff(stack(PICTURE, np.full_like(PICTURE, 255)), tags=[(338, ("H", 2))]),
        with_sub_pages([(OTHER[:32, :32], [(254, ("L", 1))]), (OTHER[:16, :16], [(254, ("L", 1))])]),
    ],
)
def test_a_page_that_is_all_is_shown(tmp_path, data):
    (tmp_path / "x.tif").write_bytes(data)
    shown = greys(tmp_path / "x.tif")
    assert (shown[32, 32], shown[2, 2]) == (200, 20)


def test_pages_within_a_large_file_s_page_are_found_too(tmp_path):
    """BigTIFF, whose lists of pages have a type that Pillow does not know."""
    packed = io.BytesIO()
    Image.fromarray(PICTURE).save(packed, "TIFF", big_tiff=True)
    data = bytearray(packed.getvalue())
    (place,) = struct.unpack_from("<Q", data, 8)
    (count,) = struct.unpack_from("<Q", data, place)
    entries = data[place + 8 : place + 8 + 20 * count]
    inner, end = len(data), struct.pack("<Q", 0)
    tags = [entries[at : at + 20] for at in range(0, len(entries), 20)]
    data += struct.pack("<Q", count) + entries + end
    own = struct.pack("<HHQQ", 330, 18, 1, inner)
    outer = len(data)
    tags = sorted([*tags, own], key=lambda each: struct.unpack_from("<H", each))
    data += struct.pack("<Q", count + 1) + b"".join(tags) + end
    struct.pack_into("<Q", data, 8, outer)
    (tmp_path / "x.tif").write_bytes(data)
    expect_refusal(tmp_path / "x.tif", "holds pages within its first page")


@pytest.mark.parametrize("side", [8, 9, 16, 24])
def test_tiny_pictures_are_not_taken_for_planes(tmp_path, side):
    values = np.random.default_rng(side).integers(0, 256, (side, side), dtype=np.uint8)
    for name, options in (
        ("a", {}),
        ("b", {"dpi": (72, 72), "description": "x" * 500, "software": "y" * 300}),
    ):
        Image.fromarray(values).save(tmp_path / f"{name}.tif", **options)
        assert read_image(tmp_path / f"{name}.tif")[0].size == (side, side)
