"""Decoding one file: depth, orientation, metadata, fingerprints, and damage of every kind."""

import io
import logging

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from pcevolve.modality.images.files import STORED_SIDE, RejectedImageError, pixel_digest, read_image
from support.examples import examples

RAMP = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)


def noise(width=24, height=16):
    return Image.fromarray(np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8))


def encoded(kind: str) -> bytes:
    buffer = io.BytesIO()
    noise().save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_16_bit_grey_is_scaled_by_the_range_of_its_type(tmp_path, suffix):
    Image.fromarray(RAMP).save(tmp_path / f"x.{suffix}")
    image, _ = read_image(tmp_path / f"x.{suffix}")
    assert np.array_equal(np.asarray(image)[..., 0].ravel(), np.arange(256))


def test_16_bit_scaling_does_not_depend_on_what_else_is_in_the_image(tmp_path):
    for name, values in (("half", RAMP // 2), ("full", RAMP)):
        Image.fromarray(values).save(tmp_path / f"{name}.png")
    half, full = (np.asarray(read_image(tmp_path / f"{name}.png")[0]) for name in ("half", "full"))
    assert np.abs(half * 2.0 - full).max() <= 2


def test_12_bit_values_in_a_16_bit_file_are_refused_because_they_would_be_black(tmp_path):
    Image.fromarray(RAMP // 16).save(tmp_path / "x.png")
    with pytest.raises(
        RejectedImageError, match="under 1/16 of its 16-bit range and would be black; rescale"
    ):
        read_image(tmp_path / "x.png")


def test_32_bit_pixels_are_refused(tmp_path):
    Image.fromarray(RAMP.astype(np.float32)).save(tmp_path / "x.tif")
    with pytest.raises(RejectedImageError, match="has 32-bit pixels; convert it to 8 or 16 bits"):
        read_image(tmp_path / "x.tif")


def test_exif_orientation_is_applied_and_all_metadata_dropped(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees to view
    exif[0x010E] = "patient name"
    noise().save(tmp_path / "x.png", exif=exif)
    image, _ = read_image(tmp_path / "x.png")
    assert np.array_equal(np.asarray(image), np.rot90(np.asarray(noise()), k=-1))
    assert image.info == {}
    assert not image.getexif()


def test_metadata_never_reaches_the_log(tmp_path, caplog):
    exif = Image.Exif()
    exif[0x010E] = "patient name"
    noise().save(tmp_path / "x.tif", exif=exif)
    with caplog.at_level(logging.DEBUG):
        read_image(tmp_path / "x.tif")
    assert "patient" not in caplog.text


def test_transparency_is_laid_over_white(tmp_path):
    Image.new("RGBA", (2, 2), (0, 0, 0, 0)).save(tmp_path / "x.png")
    assert read_image(tmp_path / "x.png")[0].getpixel((0, 0)) == (255, 255, 255)


def test_large_images_are_kept_smaller_but_fingerprinted_whole(tmp_path):
    large = Image.new("RGB", (STORED_SIDE * 2, 50), "red")
    large.save(tmp_path / "x.png")
    image, unit = read_image(tmp_path / "x.png")
    assert image.size == (STORED_SIDE, 25)
    assert unit == pixel_digest(large)


def test_unit_is_the_same_in_every_lossless_format_and_differs_by_one_pixel(tmp_path):
    units = set()
    for suffix in ("png", "bmp", "tif"):
        noise().save(tmp_path / f"x.{suffix}")
        units.add(read_image(tmp_path / f"x.{suffix}")[1])
    changed = noise()
    changed.putpixel((0, 0), (1, 2, 3))
    assert units == {pixel_digest(noise())}
    assert pixel_digest(changed) not in units


def test_unit_tells_shapes_with_equal_bytes_apart():
    assert pixel_digest(Image.new("RGB", (2, 8))) != pixel_digest(Image.new("RGB", (8, 2)))


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
    data = bytearray(encoded(kind))
    for place, value in edits:
        data[place % len(data)] = value
    (tmp_path / "x").write_bytes(data[: len(data) - cut % len(data)])
    try:
        image, unit = read_image(tmp_path / "x")
    except RejectedImageError:
        return
    assert image.mode == "RGB"
    assert len(unit) == 32


@pytest.mark.parametrize("kind", ["PPM", "EPS", "ICO"])
def test_formats_off_the_list_are_refused_whatever_their_suffix_says(tmp_path, kind):
    noise().save(tmp_path / "x.png", kind)
    with pytest.raises(RejectedImageError, match="is damaged or not an image"):
        read_image(tmp_path / "x.png")


def test_of_a_film_the_first_frame_is_read(tmp_path):
    first, second = (Image.new("RGB", (6, 4), colour) for colour in ("red", "blue"))
    first.save(tmp_path / "x.gif", save_all=True, append_images=[second])
    image, _ = read_image(tmp_path / "x.gif")
    assert (image.mode, image.size, image.getpixel((0, 0))) == ("RGB", (6, 4), (255, 0, 0))


def test_a_photograph_of_a_phone_under_another_name_is_told_by_its_content(tmp_path):
    (tmp_path / "x.jpg").write_bytes(b"\0\0\0\x18ftypheic" + bytes(100))
    with pytest.raises(RejectedImageError, match="is HEIC: convert it, such as by heif-convert"):
        read_image(tmp_path / "x.jpg")
