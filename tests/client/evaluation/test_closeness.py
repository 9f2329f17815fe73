"""How near a dataset is to private data, and what words of it come again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import linalg

from pcevolve.evaluation import closeness as blocks
from pcevolve.evaluation.closeness import measure_closeness, measure_memorisation
from pcevolve.evaluation.texts import LEAST, measure_distinct_pairs, measure_mauve, measure_next_word_accuracy


def rows(count: int, seed: int, shift: float = 0.0, width: int = 6) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, width)) + shift


@pytest.mark.parametrize("pairs", [1, 7, 100, 1000])
def test_every_figure_is_the_same_however_few_pairs_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch, pairs: int
):
    made, private, test = rows(33, 0, 0.3), rows(21, 1), rows(40, 2)
    whole = measure_closeness(made, test, clip=True).to_json()
    copies = measure_memorisation(made, private, test)
    monkeypatch.setattr(blocks, "PAIRS", pairs)
    assert measure_closeness(made, test, clip=True).to_json() == pytest.approx(whole, rel=1e-12)
    assert measure_memorisation(made, private, test) == copies


def cloud(seed: int, count=60, dimension=5, scale=1.0):
    random = np.random.default_rng(seed)
    return scale * random.normal(size=(count, dimension)) @ random.normal(size=(dimension, dimension))


@pytest.mark.parametrize(("count", "dimension"), [(60, 5), (20, 40)])
def test_frechet_distance_equals_the_textbook_formula(count, dimension):
    one, other = cloud(1, count, dimension), cloud(2, count + 7, dimension)
    covariances = [np.cov(rows, rowvar=False) for rows in (one, other)]
    root = linalg.sqrtm(covariances[0] @ covariances[1] + 1e-12 * np.eye(dimension)).real
    shift = one.mean(axis=0) - other.mean(axis=0)
    expected = shift @ shift + np.trace(covariances[0] + covariances[1] - 2 * root)
    assert measure_closeness(one, other).frechet == pytest.approx(expected, rel=1e-3)


def test_collapsed_set_has_precision_without_recall():
    real = cloud(7, count=200)
    collapsed = real[0] + 1e-3 * cloud(8, count=50)
    result = measure_closeness(collapsed, real)
    assert result.precision == 1.0
    assert result.recall < 0.05


def test_kid_is_the_unbiased_estimate_of_its_definition():
    one, other = rows(7, 0), rows(9, 1, 0.5)

    def kernel(a, b):
        return (a @ b / 6 + 1) ** 3

    within = [kernel(a, b) for a, b in itertools.permutations(one, 2)]
    among = [kernel(a, b) for a, b in itertools.permutations(other, 2)]
    across = [kernel(a, b) for a in one for b in other]
    expected = np.mean(within) + np.mean(among) - 2 * np.mean(across)
    assert measure_closeness(one, other).kid == pytest.approx(expected)


def test_cmmd_is_that_of_its_definition_and_for_clip_alone():
    one, other = rows(8, 0), rows(8, 1, 1.0)
    a, b = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (one, other))

    def mean(x, y):
        return np.mean([np.exp(-((p - q) ** 2).sum() / 200) for p in x for q in y])

    found = measure_closeness(one, other, clip=True).cmmd
    assert found == pytest.approx(1000 * (mean(a, a) + mean(b, b) - 2 * mean(a, b)))
    assert measure_closeness(one, other).cmmd is None


def test_density_and_coverage_count_neighbourhoods():
    real = np.arange(10.0)[:, None] * np.ones((1, 2))
    near, far = measure_closeness(real + 0.01, real), measure_closeness(real + 100, real)
    assert near.coverage == 1.0
    assert (far.density, far.coverage) == (0.0, 0.0)
    end = measure_closeness(np.full((6, 2), 0.5) + 0.001 * rows(6, 0)[:, :2], real)
    assert end.coverage == pytest.approx(0.4)  # of the line's ten, the first four have the images in reach
    assert end.density == pytest.approx(4 / 5)


def test_a_planted_copy_is_called_one_and_nothing_else_is():
    private, test, made = rows(40, 0), rows(60, 1), rows(50, 2)
    assert measure_memorisation(made, private, test).copies == ()
    made[[3, 17]] = private[[5, 6]] + 1e-3
    found = measure_memorisation(made, private, test)
    assert found.copies == (3, 17)


def test_without_memorisation_half_are_nearer_and_with_it_more():
    honest = [
        measure_memorisation(rows(60, 3 * k), rows(40, 3 * k + 1), rows(90, 3 * k + 2)) for k in range(20)
    ]
    assert np.mean([each.closer for each in honest]) == pytest.approx(0.5, abs=0.08)
    private = rows(40, 1)
    near = np.repeat(private, 2, axis=0) + 0.6 * rows(80, 0)
    found = measure_memorisation(near, private, rows(90, 2))
    assert (found.closer > 0.8, found.ratio < 0.8) == (True, True)


def test_the_next_word_is_guessed_from_two_words_from_one_and_from_none():
    learned = ["a b c", "a b c", "x b d"]
    # A text begins with a; after "a b" comes c, after "x b" d, after anything else and b again c, then the end.
    assert measure_next_word_accuracy(learned, ["A  B C"]) == 1.0
    assert measure_next_word_accuracy(learned, ["x b d"]) == pytest.approx(3 / 4)
    assert measure_next_word_accuracy(learned, ["q b c"]) == pytest.approx(2 / 4)
    assert measure_next_word_accuracy(learned, ["q b d"]) == pytest.approx(1 / 4)
    assert measure_next_word_accuracy(["", "a"], ["", ""]) == 1.0


def test_mauve_tells_equal_sets_from_others_and_says_nothing_of_few():
    random = np.random.default_rng(0)
    one, like, other = (random.normal(size=(4 * LEAST, 8)) + shift for shift in (0, 0, 3))
    near, far = measure_mauve(one, like), measure_mauve(one, other)
    assert near > 0.7 > 0.2 > far
    assert measure_mauve(one, like) == near
    assert measure_mauve(one[: LEAST - 1], like) is None


@pytest.mark.parametrize(
    ("texts", "share"),
    [
        (["a b c", "d e"], 1.0),
        (["a b", "A B", "a b", "a b"], 0.25),
        (["a a a a"], 1 / 3),
        (["one", "", None], 0.0),
        ([], 0.0),
    ],
)
def test_pairs_that_come_again_are_counted_once(texts, share):
    assert measure_distinct_pairs(texts) == pytest.approx(share)
