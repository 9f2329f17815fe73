"""Grey levels: which values are black and white, what is refused as without contrast, and the window that helps."""

import zlib

import numpy as np
import pytest
from PIL import Image

from pcevolve.public.media.images.levels import Seen, require_seen
from support.pictures import disc, expect_refusal, greys, save
from support.pngs import raw_png

RAMP = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
NO_CONTRAST = "has next to no contrast in the whole range of its 16 bits"
BLACK = "would be black, because its values end below 16 of 255"


def noisy(low, high, kind=np.uint16):
    return np.random.default_rng(3).integers(low, high, (64, 64)).astype(kind)


def place_levels(values, place, *levels):
    """Values of which some are other levels."""
    values[place] = np.resize(levels, values[place].shape)
    return values


def bulk(different, share=1.0, *beside):
    """In 16 bits so many values at the dark end, in a share of the pixels, and what lies beside them in the others."""
    count = round(10_000 * share)
    values = np.resize(np.arange(different), count).tolist()
    return np.array(values + np.resize(beside, 10_000 - count).tolist(), np.uint16).reshape(100, 100)


def save_channels(path, values, kind):
    """A PNG of 16 bits in several channels, by hand."""
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    height, width = values.shape[:2]
    path.write_bytes(raw_png(width, height, zlib.compress(rows), depth=16, colour=kind))
    return path


def test_dark_colours_are_told_no_window_which_is_for_grey_values(tmp_path):
    dark = np.random.default_rng(1).integers(0, 8, (16, 16, 3)).astype(np.uint8)
    expect_refusal(save(tmp_path / "x.png", dark), f"{BLACK}: brighten it, or save it as grey values$")
    expect_refusal(
        save(tmp_path / "y.png", dark[..., 0]), f"{BLACK}: say which .* data.window=LOW,HIGH, such"
    )


@pytest.mark.parametrize("suffix", ["png", "tif"])
@pytest.mark.parametrize(
    "values",
    [
        RAMP // 16,
        RAMP // 4,
        place_levels(disc(1084, 24), (0, 0), 65535),
        place_levels(noisy(0, 4096), (0, 0), 65535),
        disc(32828, 31768),
        disc(1, 0),
        place_levels(noisy(31768, 33768), slice(20), 0),
        place_levels(noisy(0, 4096), np.s_[:, :2], 65535, 50000),
        place_levels(noisy(0, 4096), np.s_[:, :2], *range(20000, 65536, 700)),
        np.where(disc(1, 0) > 0, 65535, noisy(500, 4500)).astype(np.uint16),
    ],
    ids=[
        *("12 bits", "14 bits", "hot pixel", "hot pixel in 12 bits", "offset", "mask", "frame"),
        *("two greys of writing", "many greys of writing", "depths with a hole"),
    ],
)
def test_16_bits_without_contrast_in_their_range_are_refused_with_the_way_out(tmp_path, values, suffix):
    path = save(tmp_path / f"x.{suffix}", values)
    expect_refusal(path, f"{NO_CONTRAST}: say which .* black and white with --set data.window=LOW,HIGH$")
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
            place_levels(noisy(20000, 50000), slice(20), 0),
        ),
        place_levels(noisy(20000, 40000), np.s_[:, :2], 65535, 0),
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
    expect_refusal(save(tmp_path / "bad.png", bad), NO_CONTRAST)


def test_of_three_high_levels_that_lie_together_16_bits_in_colour_hold_more_than_they_show(tmp_path):
    two, three = (np.repeat(256 * (100 + bulk(each, 0.8, 155))[..., None], 3, 2) for each in (2, 3))
    assert greys(save_channels(tmp_path / "two.png", two, 2)).max() == 255
    expect_refusal(save_channels(tmp_path / "three.png", three, 2), NO_CONTRAST)


@pytest.mark.parametrize(("kind", "channels"), [(2, 3), (4, 2), (6, 4)])
def test_16_bits_in_several_channels_need_contrast_too_beside_alpha_and_white(tmp_path, kind, channels):
    values, grey = np.full((64, 64, channels), 65535), channels - (channels in (2, 4))
    values[..., :grey] = noisy(0, 65536)[..., None]
    path = save_channels(tmp_path / "x.png", values, kind)
    assert np.abs(greys(path) - values[..., 0] / 257).max() <= 1
    expect_refusal(path, r"is of 16 bits in several channels, and data.window is for grey", (0.0, 4095.0))
    values[..., :grey] = (noisy(0, 65536) // 16)[..., None]
    expect_refusal(save_channels(path, values, kind), f"{NO_CONTRAST}: convert it to 8")
    if channels == 3:
        values[:4] = 65535
    else:
        values[..., -1] = disc(65535, 0)
    expect_refusal(save_channels(path, values, kind), NO_CONTRAST)


def test_8_bits_that_end_below_16_are_black_and_a_window_shows_a_mask_of_0_and_1(tmp_path):
    assert greys(save(tmp_path / "16.png", disc(16, 0, np.uint8))).max() == 16
    expect_refusal(save(tmp_path / "15.png", disc(15, 0, np.uint8)), BLACK)
    for mode in ("L", "RGB"):
        Image.fromarray(disc(1, 0, np.uint8)).convert(mode).save(tmp_path / "mask.png")
        expect_refusal(tmp_path / "mask.png", f"{BLACK}: .* 0,1 for a mask")
        assert np.array_equal(greys(tmp_path / "mask.png", (0.0, 1.0)), 255 * disc(1, 0))
    expect_refusal(save(tmp_path / "x.png", place_levels(disc(1, 0, np.uint8), slice(4), 255)), BLACK)


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
        expect_refusal(
            path, "negative numbers whose sign was left out, in 16 bits: save it as signed, or with", window
        )
    assert greys(path, (0.0, 65535.0))[2, 2] >= 250, "who says so is believed"


def test_numbers_that_lie_between_the_ends_of_16_bits_have_no_sign_left_out(tmp_path):
    units = (disc(0, -1000, np.int16) + noisy(-60, 60, np.int16)).view(np.uint16)
    units[0, :2] = 0, 65535
    expect_refusal(save(tmp_path / "x.png", units), "negative numbers whose sign was left out")
    units[0, 2] = 2**14
    expect_refusal(save(tmp_path / "y.png", units), "^(?!.*negative numbers)")


def test_a_picture_of_one_colour_has_no_contrast_to_lose():
    plain = np.full((8, 8, 3), (200, 100, 0), np.uint8)
    assert not require_seen(Image.fromarray(plain), 8).varies
    plain[0, 0, 1] = 101
    assert require_seen(Image.fromarray(plain), 8).varies


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
        expect_refusal(path, r"has 32-bit pixels, whose range nobody knows: .*--set data.window=LOW,HIGH")
    shown = greys(path, window)
    assert (shown[32, 32], shown[2, 2]) == (140, 0)


@pytest.mark.parametrize(
    ("low", "high", "flat"), [(100, 115, True), (100, 116, False), (0, 15, True), (0, 16, False)]
)
def test_what_lies_within_sixteen_levels_is_flat(low, high, flat):
    levels = np.array([[low, 5], [high, 5]], dtype=np.uint8)
    assert Seen("", 8, 0.0, 255.0, levels, varies=True).is_flat is flat
