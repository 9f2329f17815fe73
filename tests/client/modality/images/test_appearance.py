"""Six numbers that say how an image looks, and images that are made to look so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from pcevolve.errors import TranscriptError
from pcevolve.modality.images.appearance import AS_IS, MATCHED, Appearance, appearance_in, developed
from pcevolve.public.release import Receipt
from pcevolve_shared import images
from support.examples import examples

angles = st.floats(0, 1)
SOFTENED = 0.5
"""Of a stroke's contrast, what the widest blur leaves."""


def drawn(ground: int, ink: int, blur: float = 0.0, tint: int = 0, side: int = 64) -> Image.Image:
    image = Image.new("RGB", (side, side), (ground, ground, max(ground - tint, 0)))
    ImageDraw.Draw(image).line(
        [(side // 4, side // 4), (side // 4 * 3, side // 4 * 3)], (ink, ink, ink), side // 8
    )
    return image.filter(ImageFilter.GaussianBlur(blur)) if blur else image


def noise(seed: int, side: tuple[int, int] = (40, 40)) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (*side, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def test_it_tells_ground_from_ink_whichever_is_lighter():
    light, dark = Appearance.of(drawn(0, 255)), Appearance.of(drawn(255, 0))
    assert (light.ground, light.ink) == (0, 1)
    assert (dark.ground, dark.ink) == (1, 0)


def test_it_tells_colour_and_sharpness():
    assert Appearance.of(drawn(100, 200, tint=60)).saturation > Appearance.of(drawn(100, 200)).saturation == 0
    assert Appearance.of(drawn(0, 255)).sharpness > 1.3 * Appearance.of(drawn(0, 255, blur=3)).sharpness


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.integers(1, 70))
def test_every_image_has_one_inside_the_cube(seed, width, height):
    vector = Appearance.of(noise(seed, (height, width))).vector
    assert vector.shape == (6,)
    assert ((vector >= 0) & (vector <= 1)).all()


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255), st.integers(0, 255))
def test_an_image_gets_the_ground_and_ink_that_are_asked_for(ground, ink, wanted_ground, wanted_ink):
    one, two = drawn(ground, ink), drawn(wanted_ground, wanted_ink)
    wanted = Appearance.of(two)
    alike = (ink - ground) * (wanted_ink - wanted_ground) > 0
    if (
        not alike
        or not 0.25 < abs((wanted_ink - wanted_ground) / (ink - ground)) < 4
        or abs(ink - ground) < 10
    ):
        return  # polarity is kept, and contrast is not raised without end
    given_look = np.asarray(wanted.given_to(one), dtype=int)
    assert abs(given_look[0, 0, 0] - wanted_ground) <= 1
    assert abs(given_look[32, 32, 0] - wanted_ink) <= 3


def test_colour_goes_and_edges_soften_but_never_the_other_way():
    plain, vivid = Appearance.of(drawn(50, 250, blur=2)), drawn(50, 250, tint=50)
    toned = plain.given_to(vivid)
    assert Appearance.of(toned).saturation < 0.05
    assert Appearance.of(toned).sharpness <= plain.sharpness + 0.02
    sharp = Appearance.of(vivid)
    assert Appearance.of(sharp.given_to(drawn(50, 250, blur=2))).sharpness <= plain.sharpness + 0.02


def contrast(image: Image.Image) -> int:
    """Levels between ink and ground, below 0 for dark on light."""
    levels = np.asarray(image, dtype=int)[:, :, 0]
    return int(levels[32, 32] - levels[0, 0])


def test_light_on_dark_stays_light_on_dark_where_there_is_room_for_it():
    assert contrast(Appearance.of(drawn(150, 0)).given_to(drawn(0, 200))) >= 100


def test_where_nothing_is_darker_an_image_is_turned_round():
    """A candidate that came dark on light, where private images are light on black: it used to become all black."""
    wanted = Appearance.of(drawn(0, 255))
    assert contrast(wanted.given_to(drawn(255, 0))) > 240


def test_turning_an_image_round_leaves_its_colours():
    leaf = np.full((64, 64, 3), 250, dtype=np.uint8)
    leaf[20:44, 20:44] = (60, 140, 50)
    wanted = replace(Appearance.of(drawn(0, 200)), saturation=1.0)
    red, green, blue = np.asarray(wanted.given_to(Image.fromarray(leaf)), dtype=int)[32, 32]
    assert green > red > 0
    assert green > blue > 0


def test_a_bright_ground_that_is_turned_black_is_no_dark_colour():
    paper = np.full((64, 64, 3), (250, 180, 60), dtype=np.uint8)
    paper[20:44, 20:44] = 0
    wanted = replace(Appearance.of(drawn(0, 255)), saturation=1.0)
    assert np.asarray(wanted.given_to(Image.fromarray(paper)), dtype=int)[0, 0].max() <= 1


def test_a_released_appearance_without_contrast_takes_no_more_than_three_quarters_of_it():
    """Where some private images are light on dark and others are not, their mean has next to none."""
    grey = Appearance.of(drawn(128, 128))
    wanted = replace(grey, ink=grey.ink + 0.002, sharpness=1.0)
    assert contrast(wanted.given_to(drawn(100, 180))) == pytest.approx(20, abs=1)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 255), st.integers(0, 255), st.tuples(*[angles] * 4))
def test_no_image_becomes_flat_in_any_appearance(ground, ink, numbers):
    """An eighth of its contrast is left: half has room, and a quarter of that the lowest gain leaves."""
    source = drawn(ground, ink)
    shown = Appearance(*numbers, 0.5, 0.5).given_to(source)
    before, after = (int(np.ptp(np.asarray(each, dtype=int).mean(axis=2))) for each in (source, shown))
    assert after >= before / 8 * SOFTENED - 1


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32 - 1), st.tuples(*[angles] * 6))
def test_any_image_can_be_given_any_appearance(seed, numbers):
    source = noise(seed)
    made = Appearance(*numbers).given_to(source)
    assert made.size == source.size
    assert made.mode == "RGB"


def test_large_images_are_treated_like_small_ones():
    small, large = (Appearance.of(drawn(20, 230, blur=side / 32, side=side)).vector for side in (64, 256))
    assert small[:4] == pytest.approx(large[:4], abs=0.05)
    assert small[4:] == pytest.approx(large[4:], abs=0.08)  # a pixel is a larger part of a small image


def test_what_is_no_image_stays_none():
    assert developed(b"nothing", Appearance(0, 1, 0, 1, 0.5, 0.5)) is None
    data = images.encode(drawn(10, 200))
    assert np.array_equal(np.asarray(developed(data, None)), np.asarray(drawn(10, 200)))


def test_the_released_appearance_is_found_among_receipts():
    numbers = (0.1, 0.9, 0.0, 0.5, 0.4, 0.6)
    one = Receipt("a" * 32, 0, (), (), "replace-one", numbers)
    two = Receipt("a" * 32, 1, (), (), "replace-one")
    assert appearance_in([two, one]) == Appearance(*numbers)
    assert appearance_in([two]) is None


def test_the_last_receipt_settles_whether_the_dataset_takes_it_on():
    numbers = (0.1, 0.9, 0.0, 0.5, 0.4, 0.6)
    first, matched, as_is = (
        Receipt("a" * 32, t, (), (), "replace-one", values)
        for t, values in ((0, numbers), (1, MATCHED), (2, AS_IS))
    )
    assert appearance_in([as_is, matched, first]) is None
    assert appearance_in([matched, first]) == Appearance(*numbers)


def test_a_receipt_of_a_version_with_other_numbers_is_refused():
    with pytest.raises(TranscriptError, match=r"4 numbers.*begin a new run"):
        appearance_in([Receipt("a" * 32, 0, (), (), "replace-one", (0.1, 0.9, 0.0, 0.5))])


def test_a_subject_is_moved_to_where_subjects_lie_and_nothing_else_changes():
    wanted = Appearance.of(drawn(20, 230))
    for step in (-5, 5):
        displaced = ImageChops.offset(drawn(20, 230), 0, step)
        before, after = Appearance.of(displaced), Appearance.of(wanted.given_to(displaced))
        left = (after.down - wanted.down) / (before.down - wanted.down)
        assert 0.1 < left < 0.45  # some of its own place is kept
        assert after.vector[[0, 1, 2, 3, 5]] == pytest.approx(wanted.vector[[0, 1, 2, 3, 5]], abs=0.03)
