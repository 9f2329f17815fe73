"""Prompts find images by words, in public arithmetic; and by what a text-image model sees where words leave it open."""

from collections import Counter

import numpy as np
import pytest

from pcevolve_server.library.words import Likeness, WordIndex, draw, quantize


def test_draws_are_in_proportion_to_the_weights():
    counts = Counter(draw([1, 0, 3], seed) for seed in range(4000))
    assert counts[1] == 0
    assert counts[2] / counts[0] == pytest.approx(3, rel=0.02)


def test_consecutive_seeds_repeat_an_image_only_where_there_are_fewer_than_asked_for():
    for first in (0, 17, 2**32 - 9):
        seeds = [(first + k) % 2**32 for k in range(32)]
        assert len({draw(np.ones(100), seed) for seed in seeds}) == 32
        assert {draw(np.ones(8), seed) for seed in seeds} == set(range(8))


def test_an_image_weighs_by_the_share_of_a_prompt_s_rarer_words_that_it_has_less_that_of_the_negative_prompt():
    index = WordIndex(map(frozenset, [("tile", "red"), ("tile", "red", "old"), ("tile", "blue"), ("tile",)]))
    red, old = np.log(4 / 2), np.log(4 / 1)  # all have "tile", so that it decides nothing
    half = np.exp(3 * (red / (red + old) - 1))
    assert index.weights("a red old tile", guidance=3) == pytest.approx([half, 1, 0, 0])
    assert index.weights("a red tile", "old", guidance=3) == pytest.approx([1, np.exp(-3), 0, 0])
    assert index.weights("a tile of nobody").tolist() == [1, 1, 1, 1]


CELLS = WordIndex([*[frozenset({"blood", "smear"})] * 6, *[frozenset({"chest", "ray"})] * 6])
EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)


@pytest.fixture
def likeness():
    """The second image of each kind is what every text is about."""
    codes = np.stack([quantize(EAST + 0.2 * place % 3 * NORTH) for place in range(12)])
    codes[[1, 7]] = quantize(NORTH)
    return Likeness(CELLS, codes, lambda text: NORTH)


def test_where_words_leave_nothing_open_the_model_is_not_asked(likeness):
    def refuse(text):
        pytest.fail("the text was read")

    silent = Likeness(CELLS, likeness.codes, refuse)
    assert np.array_equal(silent.weights("a blood smear"), CELLS.weights("a blood smear"))


def test_words_choose_first_and_the_model_among_what_they_chose(likeness):
    weights = likeness.weights("a blood smear with basophils")
    assert weights.argmax() == 1
    assert np.count_nonzero(weights) == 6
    assert np.all(weights[6:] == 0)


def test_images_that_the_model_cannot_tell_apart_weigh_alike():
    blind = Likeness(CELLS, np.stack([quantize(EAST)] * 12), lambda text: NORTH)
    assert blind.weights("a tractor").tolist() == [1] * 12


def test_a_direction_in_bytes_is_that_of_any_length():
    assert quantize(np.array([3, -1.5, 0], np.float32)).tolist() == [255, 64, 128]


def test_guidance_says_how_much_the_model_tells_and_none_of_it_at_zero(likeness):
    assert np.array_equal(likeness.weights("a tractor", "", 0), np.ones(12))
    assert likeness.weights("a tractor", "", 15)[0] < likeness.weights("a tractor", "", 7.5)[0]
