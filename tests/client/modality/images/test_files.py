"""Decoding one file: depth, contrast, colours, orientation, metadata, fingerprints, and damage of every kind."""

import io
import struct
import time
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

from pcevolve.modality.images.files import STORED_SIDE, RejectedImageError, digest_pixels, examine, read_image
from support.examples import examples

RAMP = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
NO_CONTRAST = "has next to no contrast in the whole range of its 16 bits"
BLACK = "would be black, because its values end below 16 of 255"


def noise(width=24, height=16):
    return Image.fromarray(np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8))


def noisy(low, high, kind=np.uint16):
    return np.random.default_rng(3).integers(low, high, (64, 64)).astype(kind)


def disc(inside, outside, kind=np.uint16):
    rows, columns = np.mgrid[:64, :64]
    return np.where((rows - 32) ** 2 + (columns - 32) ** 2 < 400, inside, outside).astype(kind)


def placed(values, place, *levels):
    """Values of which some are other levels."""
    values[place] = np.resize(levels, values[place].shape)
    return values


def bulk(different, share=1.0, *beside):
    """In 16 bits so many values at the dark end, in a share of the pixels, and what lies beside them in the others."""
    count = round(10_000 * share)
    values = np.resize(np.arange(different), count).tolist()
    return np.array(values + np.resize(beside, 10_000 - count).tolist(), np.uint16).reshape(100, 100)


def save(path, values):
    Image.fromarray(values).save(path)
    return path


def greys(path, window=None):
    return np.asarray(read_image(path, window)[0])[..., 0]


def refused(path, told, window=None):
    with pytest.raises(RejectedImageError, match=told):
        read_image(path, window)


def chunks(width, height, bits, kind, rows):
    size = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in ((b"IHDR", size), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )


def save_channels(path, values, kind):
    """A PNG of 16 bits in several channels, by hand."""
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    path.write_bytes(chunks(values.shape[1], values.shape[0], 16, kind, rows))
    return path


def tiff(values, *, photometric=1, sign=1, order="<"):
    """A grey TIFF by hand: Pillow writes neither signs nor white as 0 in more than 8 bits."""
    height, width = values.shape
    tags = [(256, width), (257, height), (258, 8 * values.dtype.itemsize), (259, 1), (262, photometric)]
    tags += [(273, 8), (277, 1), (278, height), (279, values.nbytes), (339, sign)]
    directory = struct.pack(f"{order}H", len(tags))
    for tag, value in tags:
        directory += struct.pack(f"{order}HHL", tag, 4, 1) + struct.pack(f"{order}L", value)
    mark = b"II*\0" if order == "<" else b"MM\0*"
    return mark + struct.pack(f"{order}L", 8 + values.nbytes) + values.tobytes() + directory + bytes(4)


@pytest.mark.parametrize("suffix", ["png", "tif"])
@pytest.mark.parametrize(
    "values",
    [
        RAMP // 16,
        RAMP // 4,
        placed(disc(1084, 24), (0, 0), 65535),
        placed(noisy(0, 4096), (0, 0), 65535),
        disc(32828, 31768),
        disc(1, 0),
        placed(noisy(31768, 33768), slice(20), 0),
        placed(noisy(0, 4096), np.s_[:, :2], 65535, 50000),
        placed(noisy(0, 4096), np.s_[:, :2], *range(20000, 65536, 700)),
        np.where(disc(1, 0) > 0, 65535, noisy(500, 4500)).astype(np.uint16),
    ],
    ids=[
        *("12 bits", "14 bits", "hot pixel", "hot pixel in 12 bits", "offset", "mask", "frame"),
        *("two greys of writing", "many greys of writing", "depths with a hole"),
    ],
)
def test_16_bits_without_contrast_in_their_range_are_refused_with_the_way_out(tmp_path, values, suffix):
    path = save(tmp_path / f"x.{suffix}", values)
    refused(path, f"{NO_CONTRAST}: say which .* black and white with --set data.window=LOW,HIGH$")
    least, most = float(values.min()), float(np.percentile(values, 66)) + 1
    assert np.ptp(greys(path, (least, most))) >= 100


@pytest.mark.parametrize("suffix", ["png", "tif"])
@pytest.mark.parametrize(
    "values",
    [
        *(
            RAMP,
            disc(65535, 0),
            disc(40000, 20000),
            noisy(0, 30000),
            placed(noisy(20000, 50000), slice(20), 0),
        ),
        placed(noisy(20000, 40000), np.s_[:, :2], 65535, 0),
        (257 * np.where(disc(1, 0) > 0, noisy(245, 256), noisy(0, 11))).astype(np.uint16),
        np.repeat(np.arange(0, 65536, 3277, dtype=np.uint16), 205)[:4096].reshape(64, 64),
    ],
)
def test_16_bits_with_contrast_are_scaled_by_the_range_of_their_type(tmp_path, values, suffix):
    assert np.abs(greys(save(tmp_path / f"x.{suffix}", values)) - values / 257).max() <= 1


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (disc(257 * 163, 257 * 100), disc(257 * 164, 257 * 100)),
        (bulk(17, 0.8, 65535), bulk(16, 0.8, 65535)),
        (
            bulk(3000, 0.8, *range(257 * 21, 257 * 100, 257 * 9)),
            bulk(3000, 0.8, *range(257 * 18, 257 * 100, 257 * 8)),
        ),
        (bulk(3000, 0.96, *range(30000, 60000, 50)), bulk(3000, 0.94, *range(30000, 60000, 50))),
        (bulk(257 * 15, 0.8, 65535), bulk(257 * 19, 0.8, 65535)),
    ],
    ids=["levels of all", "different values", "gaps", "share", "levels of a piece"],
)
def test_contrast_of_more_than_8_bits_is_told_by_these_numbers(tmp_path, bad, good):
    assert greys(save(tmp_path / "good.png", good)).shape == good.shape
    refused(save(tmp_path / "bad.png", bad), NO_CONTRAST)


def test_of_three_high_levels_that_lie_together_16_bits_in_colour_hold_more_than_they_show(tmp_path):
    two, three = (np.repeat(256 * (100 + bulk(each, 0.8, 155))[..., None], 3, 2) for each in (2, 3))
    assert greys(save_channels(tmp_path / "two.png", two, 2)).max() == 255
    refused(save_channels(tmp_path / "three.png", three, 2), NO_CONTRAST)


@pytest.mark.parametrize(("kind", "channels"), [(2, 3), (4, 2), (6, 4)])
def test_16_bits_in_several_channels_need_contrast_too_beside_alpha_and_white(tmp_path, kind, channels):
    values, grey = np.full((64, 64, channels), 65535), channels - (channels in (2, 4))
    values[..., :grey] = noisy(0, 65536)[..., None]
    path = save_channels(tmp_path / "x.png", values, kind)
    assert np.abs(greys(path) - values[..., 0] / 257).max() <= 1
    refused(path, r"is of 16 bits in several channels, and data.window is for grey", (0.0, 4095.0))
    values[..., :grey] = (noisy(0, 65536) // 16)[..., None]
    refused(save_channels(path, values, kind), f"{NO_CONTRAST}: convert it to 8")
    if channels == 3:
        values[:4] = 65535
    else:
        values[..., -1] = disc(65535, 0)
    refused(save_channels(path, values, kind), NO_CONTRAST)


def test_8_bits_that_end_below_16_are_black_and_a_window_shows_a_mask_of_0_and_1(tmp_path):
    assert greys(save(tmp_path / "16.png", disc(16, 0, np.uint8))).max() == 16
    refused(save(tmp_path / "15.png", disc(15, 0, np.uint8)), BLACK)
    for mode in ("L", "RGB"):
        Image.fromarray(disc(1, 0, np.uint8)).convert(mode).save(tmp_path / "mask.png")
        refused(tmp_path / "mask.png", f"{BLACK}: .* 0,1 for a mask")
        assert np.array_equal(greys(tmp_path / "mask.png", (0.0, 1.0)), 255 * disc(1, 0))
    refused(save(tmp_path / "x.png", placed(disc(1, 0, np.uint8), slice(4), 255)), BLACK)


@pytest.mark.parametrize(
    "values",
    [
        np.append(np.arange(56, 256), np.zeros(39_800)).astype(np.uint8).reshape(200, 200),
        np.full((64, 64), 128, np.uint8),
        np.zeros((64, 64), np.uint8),
        noisy(120, 126, np.uint8),
    ],
)
def test_8_bits_that_somebody_may_have_meant_are_taken_as_they_are(tmp_path, values):
    assert np.array_equal(greys(save(tmp_path / "x.png", values)), values)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_negative_numbers_without_their_sign_are_told_as_such(tmp_path, suffix):
    units = disc(0, -1000, np.int16) + noisy(-60, 60, np.int16)
    path = save(tmp_path / f"x.{suffix}", units.view(np.uint16))
    for window in (None, (-160.0, 240.0)):
        refused(
            path, "negative numbers whose sign was left out, in 16 bits: save it as signed, or with", window
        )
    assert greys(path, (0.0, 65535.0))[2, 2] >= 250, "who says so is believed"


@pytest.mark.parametrize(
    ("suffix", "values", "window"),
    [
        ("png", disc(32828, 31768), (32608.0, 33008.0)),
        ("tif", disc(60, -1000, np.int32), (-160.0, 240.0)),
        ("tif", disc(0.6, -10, np.float32), (-1.6, 2.4)),
        ("tif", np.where(disc(1, 0) > 0, 0.6, np.nan).astype(np.float32), (-1.6, 2.4)),
    ],
)
def test_a_window_is_in_the_file_s_own_units_and_32_bits_have_no_other_range(
    tmp_path, suffix, values, window
):
    path = save(tmp_path / f"x.{suffix}", values)
    if values.dtype.itemsize == 4:
        refused(path, r"has 32-bit pixels, whose range nobody knows: .*--set data.window=LOW,HIGH")
    shown = greys(path, window)
    assert (shown[32, 32], shown[2, 2]) == (140, 0)


def test_16_bits_whose_channels_lie_apart_are_refused_and_not_read_as_8(tmp_path):
    planes = np.stack([disc(*each) for each in ((51400, 5140), (25700, 2570), (14135, 60395))])
    at = 8 + planes.nbytes
    tags = [(256, 3, 1, 64), (257, 3, 1, 64), (258, 3, 3, at), (259, 3, 1, 1), (262, 3, 1, 2)]
    tags += [(273, 4, 3, at + 6), (277, 3, 1, 3), (278, 3, 1, 64), (279, 4, 3, at + 18), (284, 3, 1, 2)]
    directory = struct.pack("<H", 10) + b"".join(struct.pack("<HHLL", *each) for each in tags) + bytes(4)
    lists = struct.pack("<3H6L", 16, 16, 16, 8, 8 + 8192, 8 + 16384, 8192, 8192, 8192)
    head = b"II*\0" + struct.pack("<L", at + len(lists))
    (tmp_path / "x.tif").write_bytes(head + planes.tobytes() + lists + directory)
    refused(tmp_path / "x.tif", "is TIFF of 16 bits whose channels lie apart; save it as PNG")


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
    refused(tmp_path / f"x.{suffix}", "is fully transparent; save it without its alpha channel")
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
    refused(tmp_path / f"x.{suffix}", told)


def test_large_images_are_kept_smaller_but_fingerprinted_whole(tmp_path):
    large = Image.new("RGB", (STORED_SIDE * 2, 200), "red")
    large.save(tmp_path / "x.png")
    image, unit = read_image(tmp_path / "x.png")
    assert image.size == (STORED_SIDE, 100)
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
    refused(tmp_path / "x.png", r"not an image|is text under the name")


@pytest.mark.parametrize("suffix", ["gif", "png", "webp", "tif"])
@pytest.mark.parametrize("frames", [2, 5])
def test_of_films_and_pages_no_frame_is_taken_for_the_picture(tmp_path, suffix, frames):
    first, *others = (Image.new("RGB", (16, 16), (40 * n, 0, 99)) for n in range(frames))
    first.save(tmp_path / f"x.{suffix}", save_all=True, append_images=others)
    refused(
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
    refused(tmp_path / "x.tif", "holds several pages or frames; save each that matters as its own")
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><title>404</title>", "is a web page under the name of an image"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is text under the name of an image"),
        (bytes(1000), "is damaged or not an image"),
    ],
)
def test_what_is_no_picture_is_told_as_what_it_is(tmp_path, data, told):
    (tmp_path / "x.jpg").write_bytes(data)
    refused(tmp_path / "x.jpg", told)
