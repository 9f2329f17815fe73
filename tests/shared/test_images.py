"""The codec at the trust boundary: what it admits, what it refuses, and that nothing else happens."""

import io
import warnings
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from pcevolve_shared import images
from pcevolve_shared.images import ImageError, ImageLimits
from support.examples import examples
from support.pngs import FORMATS, picture, raw_png, save


@pytest.mark.parametrize("kind", FORMATS)
def test_each_admitted_format_decodes_to_rgb_of_its_size(kind):
    decoded = images.decode(save(picture(), kind))
    assert (decoded.mode, decoded.size, decoded.info) == ("RGB", (24, 16), {})


def test_an_image_may_be_one_pixel():
    assert images.decode(save(picture(1, 1), "PNG")).size == (1, 1)


SPELLINGS = {
    "a progressive JPEG": ("RGB", "JPEG", {"progressive": True}),
    "a JPEG with restarts and a comment": ("RGB", "JPEG", {"restart_marker_rows": 1, "comment": b"odd"}),
    "a grey JPEG": ("L", "JPEG", {}),
    "a palette": ("P", "PNG", {}),
    "a lossy WebP": ("RGB", "WEBP", {}),
    "a lossless WebP": ("RGB", "WEBP", {"lossless": True}),
    "a WebP with a chunk of odd length": ("RGB", "WEBP", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0"}),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_pixels_are_those_that_pillow_reads_of_the_whole_file(name):
    mode, kind, options = SPELLINGS[name]
    data = save(picture(301, 17).convert(mode), kind, **options)
    assert images.decode(data).tobytes() == Image.open(io.BytesIO(data)).convert("RGB").tobytes()


@pytest.mark.parametrize(("kind", "exact"), [("png", True), ("webp", True), ("jpeg", False)])
def test_an_image_is_encoded_in_the_format_that_was_asked_for(kind, exact):
    image = picture()
    data = images.encode(image, kind)
    assert images.media_type(data) == f"image/{kind}"
    gap = np.abs(np.asarray(images.decode(data), int) - np.asarray(image, int)).max()
    assert gap == 0 if exact else 0 < gap < 30


def test_too_many_bytes_are_refused_before_anything_is_read():
    with pytest.raises(ImageError, match="has 11 bytes, more than 10"):
        images.decode(b"not an imag", ImageLimits(max_bytes=10))
    data = save(picture(), "PNG")
    assert images.decode(data, ImageLimits(max_bytes=len(data))).size == (24, 16)


def test_a_bomb_is_refused_by_its_header_alone():
    # 20,000 x 20,000 declared, 64 bytes of pixels: decoding would have said "truncated".
    with pytest.raises(ImageError, match="20000 x 20000, more than 16777216 pixels or 8192 on a side"):
        images.decode(raw_png(20_000, 20_000, zlib.compress(bytes(64))))


@pytest.mark.parametrize("kind", FORMATS)
def test_pixel_and_side_limits_hold_for_each_format(kind):
    data = save(picture(24, 16), kind)
    assert images.decode(data, ImageLimits(max_pixels=24 * 16, max_side=24)).size == (24, 16)
    with pytest.raises(ImageError, match="more than 383 pixels"):
        images.decode(data, ImageLimits(max_pixels=24 * 16 - 1))
    with pytest.raises(ImageError, match="23 on a side"):
        images.decode(data, ImageLimits(max_side=23))


def test_an_empty_png_is_refused():
    with pytest.raises(ImageError, match="empty"):
        images.decode(raw_png(0, 5, zlib.compress(bytes(64))))


def test_sixteen_bit_grey_is_scaled_not_clipped():
    image = Image.new("I;16", (2, 1))
    image.putpixel((0, 0), 65535)
    image.putpixel((1, 0), 32768)
    decoded = images.decode(save(image, "PNG"))
    assert [decoded.getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (128, 128, 128)]


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparency_is_laid_over_white(mode):
    clear = Image.new(mode, (2, 2), tuple([0] * len(mode)))
    assert images.decode(save(clear, "PNG")).getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize("kind", FORMATS)
def test_metadata_does_not_survive_decoding_and_encoding(kind):
    exif = Image.Exif()
    exif[0x010E] = "SECRET PATIENT"
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", "SECRET PATIENT")
    options = {"exif": exif, "icc_profile": b"SECRET PATIENT" * 20}
    if kind == "PNG":
        options["pnginfo"] = text
    data = save(picture(), kind, **options)
    assert b"SECRET" in data
    decoded = images.decode(data)
    assert decoded.info == {}
    assert not decoded.getexif()
    assert all(b"SECRET" not in images.encode(decoded, output) for output in ("png", "jpeg"))


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(FORMATS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=6))
def test_damage_ends_in_an_image_or_an_image_error_and_never_in_a_warning(kind, damage):
    data = bytearray(save(picture(), kind))
    for place, value in damage:
        data[min(int(place * len(data)), len(data) - 1)] = value
    assert_decodes_or_refuses(bytes(data))


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from(
        [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\x40\0\0\0WEBP", b"RIFF\x40\0\0\0WEBPVP8X", b""]
    ),
    st.binary(max_size=200),
)
def test_hostile_bytes_end_in_an_image_or_an_image_error(magic, body):
    assert_decodes_or_refuses(magic + body)


def assert_decodes_or_refuses(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            decoded = images.decode(data)
        except ImageError:
            return
    assert decoded.mode == "RGB"


@given(st.binary(max_size=300))
def test_base64_round_trips(data):
    assert images.from_base64(images.to_base64(data)) == data


@given(st.text(max_size=40))
def test_every_text_is_refused_or_the_only_spelling_of_its_bytes(text):
    try:
        data = images.from_base64(text)
    except ImageError:
        return
    assert images.to_base64(data) == text


@pytest.mark.parametrize(
    "text", ["QUI=\n", " QUI=", "QUI", "QUJ=", "data:image/png;base64,QUI=", "QU-_", "ü==="]
)
def test_loose_base64_is_refused(text):
    with pytest.raises(ImageError, match="base64"):
        images.from_base64(text)


def test_base64_is_bounded_by_the_decoded_length():
    assert images.from_base64("QUJD", max_bytes=3) == b"ABC"
    with pytest.raises(ImageError, match="more than 2 bytes"):
        images.from_base64("QUJD", max_bytes=2)
    with pytest.raises(ImageError, match="more than 3 bytes"):
        images.from_base64("QUJDRA==" * 1000, max_bytes=3)


def test_a_fast_png_has_the_same_pixels_and_the_same_bytes_each_time():
    image = picture()
    fast = images.encode(image, fast=True)
    assert fast == images.encode(image.copy(), fast=True)
    assert images.decode(fast).tobytes() == image.tobytes()


def test_encoding_drops_what_the_caller_left_in_info():
    image = picture()
    image.info["icc_profile"] = b"SECRET"
    assert images.encode(image) == images.encode(Image.frombytes("RGB", image.size, image.tobytes()))
