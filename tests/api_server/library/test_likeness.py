"""What a text-image model sees decides where the words of a prompt leave something open, and nowhere else."""

import numpy as np
import pytest

from pcevolve_server.library.words import Likeness, WordIndex, coded, cosines

CELLS = WordIndex([*[frozenset({"blood", "smear"})] * 6, *[frozenset({"chest", "ray"})] * 6])
EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)


@pytest.fixture
def likeness():
    """The second image of each kind is what every text is about."""
    codes = np.stack([coded(EAST + 0.2 * place % 3 * NORTH) for place in range(12)])
    codes[[1, 7]] = coded(NORTH)
    return Likeness(CELLS, codes, lambda text: NORTH)


def test_codes_keep_a_vectors_direction_and_nothing_of_its_length():
    rows = np.random.default_rng(0).normal(size=(40, 64)).astype(np.float32)
    text = rows[3] / np.linalg.norm(rows[3])
    exact = rows @ text / np.linalg.norm(rows, axis=1)
    codes = np.stack([coded(row) for row in rows])
    assert np.allclose(cosines(codes, text), exact, atol=0.02)
    assert np.array_equal(coded(rows[0]), coded(7 * rows[0]))
    assert np.array_equal(coded(np.zeros(4, np.float32)), np.full(4, 128))


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


def test_without_a_known_word_the_model_chooses_from_the_whole_library(likeness):
    weights = likeness.weights("a tractor")
    assert set(np.flatnonzero(weights == 1)) == {1, 7}
    assert np.all(weights > 0)


def test_the_more_words_leave_open_the_more_the_model_tells(likeness):
    little = likeness.weights("blood smear with basophils")
    much = likeness.weights("blood with violet granules")
    assert much[0] / much[1] < little[0] / little[1] < 1


def test_guidance_says_how_much_the_model_tells_and_none_of_it_at_zero(likeness):
    assert np.array_equal(likeness.weights("a tractor", "", 0), np.ones(12))
    assert likeness.weights("a tractor", "", 15)[0] < likeness.weights("a tractor", "", 7.5)[0]


def test_what_a_negative_prompt_is_like_is_drawn_less(likeness):
    assert likeness.weights("", "a tractor").argmin() in (1, 7)


def test_images_that_all_look_alike_are_drawn_alike(likeness):
    same = Likeness(CELLS, np.stack([coded(EAST)] * 12), likeness.read)
    assert np.array_equal(same.weights("a tractor"), np.ones(12))
