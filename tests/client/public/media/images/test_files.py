"""Decoding one file: its kind, colours, orientation, metadata, fingerprints, and damage of every kind."""

from __future__ import annotations

import io
import struct
import time
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

from pcevolve.public.media.images.files import RejectedImageError, digest_pixels, examine, read_image
from support.examples import examples
from support.pictures import disc, expect_refusal, greys, save, tiff


def noise(width=24, height=16):
    return Image.fromarray(np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8))


def test_16_bits_whose_channels_lie_apart_are_refused_and_not_read_as_8(tmp_path):
    planes = np.stack([disc(*each) for each in ((51400, 5140), (25700, 2570), (14135, 60395))])
    at = 8 + planes.nbytes
    tags = [(256, 3, 1, 64), (257, 3, 1, 64), (258, 3, 3, at), (259, 3, 1, 1), (262, 3, 1, 2)]
    tags += [(273, 4, 3, at + 6), (277, 3, 1, 3), (278, 3, 1, 64), (279, 4, 3, at + 18), (284, 3, 1, 2)]
    directory = struct.pack("<H", 10) + b"".join(struct.pack("<HHLL", *each) for each in tags) + bytes(4)
    lists = struct.pack("<3H6L", 16, 16, 16, 8, 8 + 8192, 8 + 16384, 8192, 8192, 8192)
    head = b"II*\0" + struct.pack("<L", at + len(lists))
    (tmp_path / "x.tif").write_bytes(head + planes.tobytes() + lists + directory)
    expect_refusal(tmp_path / "x.tif", "is TIFF of 16 bits whose channels lie apart; save it as PNG")


def test_of_a_tiff_whose_white_is_0_high_values_are_dark(tmp_path):
    for high, low in ((65535, 16384), (255, 64)):
        values = disc(high, low).astype("<u2" if high > 255 else "u1")
        (tmp_path / "x.tif").write_bytes(tiff(values, photometric=0))
        shown, windowed = greys(tmp_path / "x.tif"), greys(tmp_path / "x.tif", (float(low), float(high)))
        assert (shown[32, 32], shown[2, 2]) == (0, 191)
        assert (windowed[32, 32], windowed[2, 2]) == (0, 255)


@pytest.mark.parametrize("values", [disc(40000, 0), disc(200, 10, np.uint8)])
def test_a_window_makes_no_other_data_of_a_file(tmp_path, values):
    files = [save(tmp_path / f"x.{suffix}", values) for suffix in ("png", "tif")]
    found = [examine(file, window) for file in files for window in (None, (0.0, 300.0))]
    assert len({each.digest for each in found}) == 1
    assert found[0].image.tobytes() != found[1].image.tobytes()


def with_swapped_colours():
    """A colour profile that calls red what sRGB calls green."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return profile.replace(b"rXYZ", b"tmp_").replace(b"gXYZ", b"rXYZ").replace(b"tmp_", b"gXYZ")


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "webp"])
def test_a_colour_profile_is_applied_as_viewers_do_and_makes_no_other_data(tmp_path, suffix):
    Image.new("RGB", (8, 8), (250, 0, 0)).save(tmp_path / f"plain.{suffix}")
    Image.new("RGB", (8, 8), (250, 0, 0)).save(tmp_path / f"x.{suffix}", icc_profile=with_swapped_colours())
    plain, shown = (examine(tmp_path / f"{name}.{suffix}") for name in ("plain", "x"))
    red, green, blue = shown.image.getpixel((4, 4))
    assert green >= 240 > 10 >= max(red, blue)
    assert shown.image.info == {}
    assert shown.digest == plain.digest


@pytest.mark.parametrize(
    "profile", [b"", b"no profile", ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()]
)
def test_a_profile_that_says_nothing_changes_nothing(tmp_path, profile):
    noise().save(tmp_path / "x.png", icc_profile=profile)
    assert np.array_equal(np.asarray(read_image(tmp_path / "x.png")[0]), np.asarray(noise()))


def test_colours_for_print_and_for_measuring_are_shown_as_such(tmp_path):
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / "x.jpg")
    Image.new("LAB", (8, 8), (255, 128, 128)).save(tmp_path / "x.tif")
    red, green, blue = read_image(tmp_path / "x.jpg")[0].getpixel((4, 4))
    assert red > 240 > 15 > max(green, blue)
    assert min(read_image(tmp_path / "x.tif")[0].getpixel((4, 4))) >= 250


@pytest.mark.parametrize("suffix", ["png", "tif", "webp", "jpg"])
def test_exif_orientation_is_applied_and_all_metadata_dropped(tmp_path, suffix):
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "patient name"  # turn by 90 degrees to view
    noise().save(tmp_path / f"x.{suffix}", exif=exif, **({"lossless": True} if suffix == "webp" else {}))
    image, _ = read_image(tmp_path / f"x.{suffix}")
    assert image.size == (16, 24)
    if suffix != "jpg":
        assert np.array_equal(np.asarray(image), np.rot90(np.asarray(noise()), k=-1))
    assert image.info == {}
    assert not image.getexif()


@pytest.mark.parametrize(("mode", "suffix"), [("RGBA", "png"), ("RGBA", "webp"), ("LA", "png"), ("P", "gif")])
def test_transparency_is_laid_over_white_and_an_image_of_nothing_else_is_refused(tmp_path, mode, suffix):
    image = noise().convert("RGBA")
    image.putalpha(0)
    if mode == "P":
        Image.new("P", (16, 16), 3).save(tmp_path / "x.gif", transparency=3)
    else:
        image.convert(mode).save(tmp_path / f"x.{suffix}", exact=True)
    expect_refusal(tmp_path / f"x.{suffix}", "is fully transparent; save it without its alpha channel")
    image.putpixel((7, 7), (0, 0, 0, 255))
    image.save(tmp_path / "x.png")
    assert read_image(tmp_path / "x.png")[0].getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ((1, 1), "has 1x1 pixels, and a side needs at least 8"),
        ((7, 100), "has 7x100 pixels, and a side needs at least 8"),
        ((5000, 30), "has 5000x30 pixels, one side 166 times the other"),
        ((10, 210), "has 10x210 pixels, one side 21 times the other"),
    ],
)
@pytest.mark.parametrize("suffix", ["png", "bmp", "tif"])
def test_what_is_too_small_or_too_narrow_to_show_anything_is_refused(tmp_path, size, told, suffix):
    noise().resize(size).save(tmp_path / f"x.{suffix}")
    expect_refusal(tmp_path / f"x.{suffix}", told)
    noise().resize((8, 160)).save(tmp_path / f"x.{suffix}")
    assert read_image(tmp_path / f"x.{suffix}")[0].size == (8, 160)


def test_large_images_are_kept_smaller_but_fingerprinted_whole(tmp_path):
    large = Image.new("RGB", (2048, 200), "red")
    large.save(tmp_path / "x.png")
    image, unit = read_image(tmp_path / "x.png")
    assert image.size == (1024, 100)
    assert unit == digest_pixels(large)


def test_a_fingerprint_is_the_same_in_every_lossless_format_and_another_for_one_pixel_or_shape(tmp_path):
    for suffix in ("png", "bmp", "tif"):
        noise().save(tmp_path / f"x.{suffix}")
    changed = noise()
    changed.putpixel((0, 0), (1, 2, 3))
    units = {read_image(tmp_path / f"x.{suffix}")[1] for suffix in ("png", "bmp", "tif")}
    assert units == {digest_pixels(noise())}
    assert digest_pixels(changed) not in units
    assert digest_pixels(Image.new("RGB", (2, 8))) != digest_pixels(Image.new("RGB", (8, 2)))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "BMP", "WebP"])
@settings(
    max_examples=examples(60),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    edits=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6), cut=st.integers(0, 600)
)
def test_damage_gives_an_image_or_a_refusal_and_nothing_else(tmp_path, kind, edits, cut):
    buffer = io.BytesIO()
    noise().save(buffer, kind)
    data = bytearray(buffer.getvalue())
    for place, value in edits:
        data[place % len(data)] = value
    (tmp_path / "x").write_bytes(data[: len(data) - cut % len(data)])
    try:
        image, unit = read_image(tmp_path / "x")
    except RejectedImageError:
        return
    assert (image.mode, len(unit)) == ("RGB", 32)


@pytest.mark.parametrize("kind", ["PPM", "EPS", "ICO"])
def test_formats_off_the_list_are_refused_whatever_their_suffix_says(tmp_path, kind):
    noise().save(tmp_path / "x.png", kind)
    expect_refusal(tmp_path / "x.png", r"not an image|is named like an image")


@pytest.mark.parametrize("suffix", ["gif", "png", "webp", "tif"])
@pytest.mark.parametrize("frames", [2, 5])
def test_of_films_and_pages_no_frame_is_taken_for_the_picture(tmp_path, suffix, frames):
    first, *others = (Image.new("RGB", (16, 16), (40 * n, 0, 99)) for n in range(frames))
    first.save(tmp_path / f"x.{suffix}", save_all=True, append_images=others)
    expect_refusal(
        tmp_path / f"x.{suffix}", f"holds {frames} pages or frames; save each that matters as its own file"
    )


def test_pages_without_end_are_not_counted(tmp_path):
    pages = 1_000_000
    data = bytearray(tiff(np.zeros((4, 4), np.uint8)))
    struct.pack_into("<L", data, len(data) - 4, len(data))
    shift = len(data)
    chain = b"".join(struct.pack("<HL", 0, shift + 6 * (page + 1)) for page in range(pages - 1)) + bytes(6)
    (tmp_path / "x.tif").write_bytes(data + chain)
    began = time.process_time()
    expect_refusal(tmp_path / "x.tif", "holds several pages or frames; save each that matters as its own")
    assert time.process_time() - began < 3


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "tif", "gif", "webp"])
@pytest.mark.parametrize("lying", [False, True])
def test_pixels_that_are_not_square_are_made_so_and_the_data_stay_the_same(tmp_path, suffix, lying):
    picture, exif = Image.fromarray(disc(200, 20, np.uint8)), Image.Exif()
    picture.save(tmp_path / f"square.{suffix}")
    exif[274] = 6 if lying else 1
    if suffix in ("tif", "webp"):
        exif[282], exif[283] = 100.0, 200.0
    more = {} if suffix in ("bmp", "gif") else {"exif": exif}
    picture.save(
        tmp_path / f"x.{suffix}", **({} if suffix in ("tif", "webp", "gif") else {"dpi": (100, 200)}), **more
    )
    if suffix == "gif":  # (113 + 15) / 64
        data = bytearray((tmp_path / "x.gif").read_bytes())
        data[12] = 113
        (tmp_path / "x.gif").write_bytes(data)
    found = examine(tmp_path / f"x.{suffix}")
    turned = lying and suffix not in ("bmp", "gif")
    assert found.image.size == ((64, 128) if turned else (128, 64))
    shown = np.asarray(found.image)[..., 0].astype(int)
    shown = shown.T if turned else shown
    assert abs((shown > 110).sum(axis=0).max() - 40) <= 2
    assert abs((shown > 110).sum(axis=1).max() - 80) <= 2
    if not turned:
        assert found.digest == examine(tmp_path / f"square.{suffix}").digest


def test_pixels_of_an_unlikely_shape_are_refused_and_large_pictures_are_stretched_within_the_side(tmp_path):
    Image.fromarray(disc(200, 20, np.uint8)).save(tmp_path / "x.png", dpi=(72, 1))
    expect_refusal(
        tmp_path / "x.png", "says that its pixels are 72.6923 times as high as wide; stretch it, or save it"
    )
    noise(800, 600).save(tmp_path / "y.png", dpi=(200, 100))
    assert examine(tmp_path / "y.png").image.size == (683, 1024)


def test_several_views_in_a_jpeg_are_refused_and_previews_are_not(tmp_path):
    first, second = noise(64, 64), noise(32, 32)
    first.save(tmp_path / "x.jpg", format="MPO", save_all=True, append_images=[second])
    assert examine(tmp_path / "x.jpg").image.size == (64, 64)
    data = (tmp_path / "x.jpg").read_bytes()
    second_kind = (
        data.index(b"MPF\0") + 4 + 50 + 16
    )  # CIPA DC-007: behind a list of three tags, the second entry
    of_two_eyes = struct.pack("<L", 0x020002)
    (tmp_path / "y.jpg").write_bytes(data[:second_kind] + of_two_eyes + data[second_kind + 4 :])
    expect_refusal(tmp_path / "y.jpg", "holds several views or pieces of a panorama")


def test_a_transparent_value_among_16_bits_is_refused_and_not_shown_as_grey(tmp_path):
    Image.fromarray(disc(40000, 500)).save(tmp_path / "x.png", transparency=500)
    expect_refusal(tmp_path / "x.png", "has a transparent value among those of 16 bits")


def test_a_file_has_at_most_256_mebibytes(tmp_path):
    for size, told in (
        (268_435_457, "is larger than 256 MiB; scale it down"),
        (268_435_456, r"(?!is larger)"),
    ):
        with (tmp_path / "x.png").open("wb") as file:
            file.truncate(size)
        expect_refusal(tmp_path / "x.png", told)


@pytest.mark.parametrize(
    ("width", "told"), [(8001, "has 8001x8000 pixels, limit 64,000,000; scale it down"), (8000, r"(?!has)")]
)
def test_an_image_has_at_most_64_million_pixels_by_its_header(tmp_path, width, told):
    buffer = io.BytesIO()
    noise().save(buffer, "PNG")
    head = b"IHDR" + struct.pack(">LL", width, 8000) + buffer.getvalue()[24:29]
    data = buffer.getvalue()[:12] + head + struct.pack(">L", zlib.crc32(head)) + buffer.getvalue()[33:]
    (tmp_path / "x.png").write_bytes(data)
    expect_refusal(tmp_path / "x.png", told)


@pytest.mark.parametrize(("alpha", "shown"), [(7, False), (8, True)])
def test_of_an_image_something_must_be_seen(tmp_path, alpha, shown):
    image = noise().convert("RGBA")
    image.putalpha(alpha)
    image.save(tmp_path / "x.png")
    if shown:
        assert read_image(tmp_path / "x.png")[0].size == (24, 16)
    else:
        expect_refusal(tmp_path / "x.png", "is fully transparent")


@pytest.mark.parametrize(("size", "pages"), [(65_536, "2"), (65_537, "several")])
def test_pages_of_files_up_to_64_kibibytes_are_counted(tmp_path, size, pages):
    first = Image.new("RGB", (16, 16))
    first.save(tmp_path / "x.tif", save_all=True, append_images=[first])
    with (tmp_path / "x.tif").open("r+b") as file:
        file.truncate(size)
    expect_refusal(tmp_path / "x.tif", f"holds {pages} pages or frames")


@pytest.mark.parametrize(
    ("density", "size"),
    [
        *(((100, 100), (64, 64)), ((2835, 2834), (64, 64)), ((0, 0), (64, 64)), ((101, 100), (64, 64))),
        *(((102, 100), (64, 65)), ((100, 10), (64, 640)), ((10, 100), (640, 64))),
        *(((101, 10), None), ((10, 101), None)),
    ],
)
def test_pixels_are_stretched_from_a_hundredth_to_ten_times(tmp_path, density, size):
    Image.fromarray(disc(200, 20, np.uint8)).save(tmp_path / "x.jpg", dpi=density)
    if size is None:
        expect_refusal(tmp_path / "x.jpg", "says that its pixels are")
    else:
        assert examine(tmp_path / "x.jpg").image.size == size
