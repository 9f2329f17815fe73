"""Where an image's subject lies, and how it is moved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.modality.images.appearance import MOVED_SHARE, REACH, moved, position_of
from support.examples import examples

SIDE = 60


def spot(down: int, across: int, size: int = 6) -> np.ndarray:
    pixels = np.zeros((SIDE, SIDE))
    pixels[down : down + size, across : across + size] = 1.0
    return pixels


def test_it_is_the_middle_of_what_stands_out_stretched():
    assert position_of(spot(27, 27), 0.0, 1.0) == pytest.approx((0.5, 0.5))
    assert position_of(spot(30, 24), 0.0, 1.0) == pytest.approx((0.5 + 3 / SIDE / (2 * REACH), 0.25))
    assert position_of(spot(0, 54), 0.0, 1.0) == (0.0, 1.0)
    assert position_of(1 - spot(30, 27), 1.0, 0.0) == position_of(spot(30, 27), 0.0, 1.0)  # dark on light too


def test_a_heavy_side_does_not_pull_it_and_specks_do_not_either():
    heavy = spot(24, 27, 12)
    heavy[24:30] *= 0.5
    assert position_of(heavy, 0.0, 1.0)[0] == pytest.approx(0.5, abs=0.02)
    speckled = spot(24, 24, 12)
    speckled[1, 1] = 1.0
    assert position_of(speckled, 0.0, 1.0) == pytest.approx((0.5, 0.5), abs=0.03)


def test_an_image_without_a_subject_has_its_place_in_the_middle():
    assert position_of(np.zeros((SIDE, SIDE)), 0.0, 1.0) == (0.5, 0.5)


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(22, 32), st.integers(22, 32), st.floats(0, 1), st.floats(0, 1))
def test_a_move_goes_most_of_the_way(down, across, wanted_down, wanted_across):
    image = np.repeat(spot(down, across)[..., None], 3, axis=2)
    own, wanted = np.array(position_of(image[..., 0], 0, 1)), np.array((wanted_down, wanted_across))
    reached = np.array(position_of(moved(image, tuple(own), tuple(wanted)).mean(axis=2), 0, 1))
    assert reached == pytest.approx(own + MOVED_SHARE * (wanted - own), abs=0.5 / SIDE / (2 * REACH) + 1e-9)


def test_a_texture_is_not_torn_at_its_edges():
    texture = np.random.default_rng(0).uniform(0.4, 0.6, (SIDE, SIDE, 3))
    shifted = moved(texture, (0.0, 0.0), (1.0, 1.0))
    assert shifted.shape == texture.shape
    assert shifted.std() == pytest.approx(texture.std(), rel=0.02)
    assert np.array_equal(shifted[8:, 8:], texture[:-8, :-8])
    assert np.array_equal(shifted[7::-1, 8:], texture[:8, :-8])
