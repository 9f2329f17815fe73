"""The appearance of images: how it is found, given and moved; where a subject lies; which images look the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFilter
from scipy.ndimage import gaussian_filter

from pcevolve.errors import TranscriptError
from pcevolve.public.media.images.appearance import (
    AS_IS,
    MATCHED,
    MOVED_SHARE,
    REACH,
    Appearance,
    blur,
    find_position,
    find_released_appearance,
    move,
)
from pcevolve.public.release import Receipt
from support.examples import examples

angles = st.floats(0, 1)
SOFTENED = 0.5
"""Of a stroke's contrast, what the widest blur leaves."""


def draw(ground: int, ink: int, blur: float = 0.0, tint: int = 0, side: int = 64) -> Image.Image:
    image = Image.new("RGB", (side, side), (ground, ground, max(ground - tint, 0)))
    ImageDraw.Draw(image).line(
        [(side // 4, side // 4), (side // 4 * 3, side // 4 * 3)], (ink, ink, ink), side // 8
    )
    return image.filter(ImageFilter.GaussianBlur(blur)) if blur else image


def noise(seed: int, side: tuple[int, int] = (40, 40)) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (*side, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def test_it_tells_ground_from_ink_whichever_is_lighter():
    light, dark = Appearance.of(draw(0, 255)), Appearance.of(draw(255, 0))
    assert (light.ground, light.ink) == (0, 1)
    assert (dark.ground, dark.ink) == (1, 0)


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.integers(1, 70))
def test_every_image_has_one_inside_the_cube(seed, width, height):
    vector = Appearance.of(noise(seed, (height, width))).vector
    assert vector.shape == (6,)
    assert ((vector >= 0) & (vector <= 1)).all()


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255), st.integers(0, 255))
def test_an_image_gets_the_ground_and_ink_that_are_asked_for(ground, ink, wanted_ground, wanted_ink):
    one, two = draw(ground, ink), draw(wanted_ground, wanted_ink)
    wanted = Appearance.of(two)
    alike = (ink - ground) * (wanted_ink - wanted_ground) > 0
    if (
        not alike
        or not 0.25 < abs((wanted_ink - wanted_ground) / (ink - ground)) < 4
        or abs(ink - ground) < 10
    ):
        return  # polarity is kept, and contrast is not raised without end
    given_look = np.asarray(wanted.apply_to(one), dtype=int)
    assert abs(given_look[0, 0, 0] - wanted_ground) <= 1
    assert abs(given_look[32, 32, 0] - wanted_ink) <= 3


def test_colour_goes_and_edges_soften_but_never_the_other_way():
    plain, vivid = Appearance.of(draw(50, 250, blur=2)), draw(50, 250, tint=50)
    toned = plain.apply_to(vivid)
    assert Appearance.of(toned).saturation < 0.05
    assert Appearance.of(toned).sharpness <= plain.sharpness + 0.02
    sharp = Appearance.of(vivid)
    assert Appearance.of(sharp.apply_to(draw(50, 250, blur=2))).sharpness <= plain.sharpness + 0.02


def contrast(image: Image.Image) -> int:
    """Levels between ink and ground, below 0 for dark on light."""
    levels = np.asarray(image, dtype=int)[:, :, 0]
    return int(levels[32, 32] - levels[0, 0])


def test_light_on_dark_stays_light_on_dark_where_there_is_room_for_it():
    assert contrast(Appearance.of(draw(150, 0)).apply_to(draw(0, 200))) >= 100


def test_a_released_appearance_without_contrast_takes_no_more_than_three_quarters_of_it():
    """Where some private images are light on dark and others are not, their mean has next to none."""
    grey = Appearance.of(draw(128, 128))
    wanted = replace(grey, ink=grey.ink + 0.002, sharpness=1.0)
    assert contrast(wanted.apply_to(draw(100, 180))) == pytest.approx(20, abs=1)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 255), st.integers(0, 255), st.tuples(*[angles] * 4))
def test_no_image_becomes_flat_in_any_appearance(ground, ink, numbers):
    """An eighth of its contrast is left: half has room, and a quarter of that the lowest gain leaves."""
    source = draw(ground, ink)
    shown = Appearance(*numbers, 0.5, 0.5).apply_to(source)
    before, after = (int(np.ptp(np.asarray(each, dtype=int).mean(axis=2))) for each in (source, shown))
    assert after >= before / 8 * SOFTENED - 1


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32 - 1), st.tuples(*[angles] * 6))
def test_any_image_can_be_given_any_appearance(seed, numbers):
    source = noise(seed)
    made = Appearance(*numbers).apply_to(source)
    assert made.size == source.size
    assert made.mode == "RGB"


@pytest.mark.parametrize("deviation", [0.1, 0.7, 3.3, 9.9])
def test_a_blur_is_scipy_s_but_for_rounding_at_the_edges_too(deviation):
    pixels = np.random.default_rng(4).random((21, 40, 3))
    expected = gaussian_filter(pixels, (deviation, deviation, 0), mode="nearest")
    np.testing.assert_allclose(blur(pixels, deviation), expected, rtol=1e-14)


def test_the_released_appearance_is_found_among_receipts_unless_the_last_says_that_it_is_not_taken_on():
    numbers = (0.1, 0.9, 0.0, 0.5, 0.4, 0.6)
    first, silent, matched, as_is, other = (
        Receipt("a" * 32, t, (), (), "replace-one", values)
        for t, values in ((0, numbers), (1, ()), (1, MATCHED), (2, AS_IS), (0, numbers[:4]))
    )
    for later in ([], [silent], [matched]):
        assert find_released_appearance([*later, first]) == Appearance(*numbers)
    assert find_released_appearance([as_is, matched, first]) is find_released_appearance([silent]) is None
    with pytest.raises(TranscriptError, match=r"4 numbers.*begin a new run"):
        find_released_appearance([other])


SIDE = 60


def spot(down: int, across: int, size: int = 6) -> np.ndarray:
    pixels = np.zeros((SIDE, SIDE))
    pixels[down : down + size, across : across + size] = 1.0
    return pixels


def test_it_is_the_middle_of_what_stands_out_stretched():
    assert find_position(spot(27, 27), 0.0, 1.0) == pytest.approx((0.5, 0.5))
    assert find_position(spot(30, 24), 0.0, 1.0) == pytest.approx((0.5 + 3 / SIDE / (2 * REACH), 0.25))
    assert find_position(spot(0, 54), 0.0, 1.0) == (0.0, 1.0)
    assert find_position(1 - spot(30, 27), 1.0, 0.0) == find_position(
        spot(30, 27), 0.0, 1.0
    )  # dark on light too


def test_a_heavy_side_does_not_pull_it_and_specks_do_not_either():
    heavy = spot(24, 27, 12)
    heavy[24:30] *= 0.5
    assert find_position(heavy, 0.0, 1.0)[0] == pytest.approx(0.5, abs=0.02)
    speckled = spot(24, 24, 12)
    speckled[1, 1] = 1.0
    assert find_position(speckled, 0.0, 1.0) == pytest.approx((0.5, 0.5), abs=0.03)


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(22, 32), st.integers(22, 32), st.floats(0, 1), st.floats(0, 1))
def test_a_move_goes_most_of_the_way(down, across, wanted_down, wanted_across):
    image = np.repeat(spot(down, across)[..., None], 3, axis=2)
    own, wanted = np.array(find_position(image[..., 0], 0, 1)), np.array((wanted_down, wanted_across))
    reached = np.array(find_position(move(image, tuple(own), tuple(wanted)).mean(axis=2), 0, 1))
    assert reached == pytest.approx(own + MOVED_SHARE * (wanted - own), abs=0.5 / SIDE / (2 * REACH) + 1e-9)


def test_a_texture_is_not_torn_at_its_edges():
    texture = np.random.default_rng(0).uniform(0.4, 0.6, (SIDE, SIDE, 3))
    shifted = move(texture, (0.0, 0.0), (1.0, 1.0))
    assert shifted.shape == texture.shape
    assert shifted.std() == pytest.approx(texture.std(), rel=0.02)
    assert np.array_equal(shifted[8:, 8:], texture[:-8, :-8])
    assert np.array_equal(shifted[7::-1, 8:], texture[:8, :-8])


@pytest.mark.parametrize(("there", "down"), [(1.0, 7), (0.0, -7)])
def test_a_picture_moves_and_mirrors_what_was_at_its_edge(there: float, down: int):
    pixels = np.arange(100 * 2 * 3, dtype=float).reshape(100, 2, 3)
    moved = move(pixels, (0.5, 0.5), (there, 0.5))
    assert moved.shape == pixels.shape
    rows = [abs(row) - (row < 0) if row < 100 else 199 - row for row in range(-down, 100 - down)]
    assert np.array_equal(moved, pixels[rows])
