"""What a text-image model sees decides where the words of a prompt leave something open, and nowhere else."""

import numpy as np
import pytest

from pcevolve_server.library.words import Likeness, WordIndex, quantize

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


def test_guidance_says_how_much_the_model_tells_and_none_of_it_at_zero(likeness):
    assert np.array_equal(likeness.weights("a tractor", "", 0), np.ones(12))
    assert likeness.weights("a tractor", "", 15)[0] < likeness.weights("a tractor", "", 7.5)[0]
