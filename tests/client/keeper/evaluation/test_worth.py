"""A dataset's measured worth: the word follows what judges that did not vote were right about, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy import stats

from pcevolve.keeper.evaluation.worth import Right, Worth

DATASET, SHOTS, WORDS, RANDOM = "dataset", "private images", "words alone", "a random choice"


def right_of(accuracy: float, items: int, seed: int = 0) -> Right:
    """Three heads that are right about so many items, each about others."""
    random = np.random.default_rng([seed, round(1000 * accuracy)])
    return np.stack([random.permutation(items) < accuracy * items for _ in range(3)])


def worth_of(dataset: float, shots: float, items: int = 400, classes: int = 2, **free: float) -> Worth:
    sets = {DATASET: dataset, SHOTS: shots, **{name.replace("_", " "): each for name, each in free.items()}}
    return Worth.of({"cnn": {name: right_of(each, items) for name, each in sets.items()}}, classes, {})


@pytest.mark.parametrize(
    ("accuracies", "word"),
    [
        pytest.param(partial(worth_of, 0.85, 0.9, words_alone=0.55), "useful", id="most of the way"),
        pytest.param(partial(worth_of, 0.35, 0.9, words_alone=0.5), "not useful", id="below chance"),
        pytest.param(partial(worth_of, 0.55, 0.9, words_alone=0.5), "not useful", id="an eighth of the way"),
        pytest.param(
            partial(worth_of, 0.85, 0.9, words_alone=0.93), "not useful", id="words alone are better"
        ),
        pytest.param(
            partial(worth_of, 0.85, 0.9, words_alone=0.845), "doubtful", id="words alone may be as good"
        ),
        pytest.param(
            partial(worth_of, 0.85, 0.9, words_alone=0.5, a_random_choice=0.85), "doubtful", id="so may luck"
        ),
        pytest.param(partial(worth_of, 0.70, 0.9, words_alone=0.5), "doubtful", id="half of the way"),
        pytest.param(partial(worth_of, 0.95, 0.95, items=20, words_alone=0.5), "doubtful", id="few items"),
        pytest.param(
            partial(worth_of, 0.9, 0.51, words_alone=0.5), "doubtful", id="shots that teach nothing"
        ),
        pytest.param(
            partial(worth_of, 0.35, 0.5, classes=4, words_alone=0.25), "doubtful", id="four classes"
        ),
        pytest.param(
            partial(worth_of, 0.47, 0.5, classes=4, words_alone=0.25), "useful", id="four classes, most of it"
        ),
    ],
)
def test_the_word_follows_what_was_measured(accuracies: Callable[[], Worth], word: str):
    assert accuracies().word == word


def test_what_is_surely_as_good_or_may_be_is_named():
    found = worth_of(0.85, 0.9, words_alone=0.93, a_random_choice=0.845)
    assert (found.matched, found.unsure) == (WORDS, WORDS)
    found = worth_of(0.85, 0.9, words_alone=0.5, a_random_choice=0.845)
    assert (found.matched, found.unsure) == (None, RANDOM)


def test_the_share_is_of_the_way_from_chance_to_the_private_images_in_the_mean_of_the_judges():
    answers = {
        "cnn": {DATASET: right_of(0.7, 400), SHOTS: right_of(0.8, 400)},
        "clip": {DATASET: right_of(0.8, 400), SHOTS: right_of(1.0, 400)},
    }
    found = Worth.of(answers, 2, {})
    assert found.judges == ("cnn", "clip")
    assert found.share is not None
    assert found.share.mean == pytest.approx((0.75 - 0.5) / (0.9 - 0.5))
    assert found.share.low < found.share.mean < found.share.high


GOOD = {DATASET: right_of(0.8, 400), SHOTS: right_of(0.9, 400)}
LUCKY = {DATASET: right_of(0.7, 400), SHOTS: right_of(0.52, 400)}
HALF_TRAINED = {DATASET: right_of(0.8, 400), SHOTS: right_of(0.65, 400)}


@pytest.mark.parametrize(
    ("bad", "learnt", "why"),
    [
        pytest.param(LUCKY, 1.0, "at chance", id="private images that teach it nothing"),
        pytest.param(HALF_TRAINED, 0.74, "untrained", id="private images that it did not even learn"),
    ],
)
def test_a_judge_that_learnt_nothing_of_the_private_images_is_left_out_and_no_way_is_more_than_whole(
    bad: dict[str, Right], learnt: float, why: str
):
    found = Worth.of({"cnn": bad, "clip": GOOD}, 2, {}, {"cnn": learnt, "clip": 1.0})
    assert (found.judges, found.failed) == (("clip",), {"cnn": why})
    assert found.share is not None
    assert found.share.mean == pytest.approx(0.3 / 0.4)
    alone = Worth.of({"cnn": bad}, 2, {}, {"cnn": learnt})
    assert (alone.share, alone.judges, alone.word) == (None, ("cnn",), "doubtful")


def test_a_judge_that_learnt_three_quarters_of_two_classes_counts():
    found = Worth.of({"cnn": HALF_TRAINED, "clip": GOOD}, 2, {}, {"cnn": 0.75})
    assert (found.judges, found.failed) == (("cnn", "clip"), {})


@pytest.mark.statistical
def test_the_interval_of_a_lead_holds_the_truth_in_nineteen_of_twenty_tests_and_a_narrower_one_does_not():
    held, narrow = [], []
    for seed in range(100):
        random = np.random.default_rng([7, seed])
        # One head each, of which test items are the only draw: three seeds that agree.
        sets = {DATASET: 0.75, SHOTS: 0.9, WORDS: 0.6}
        right = {name: np.repeat(random.random((1, 200)) < each, 3, axis=0) for name, each in sets.items()}
        _, low, high = Worth.of({"cnn": right}, 2, {}).ahead[WORDS]
        held.append(low <= 0.15 <= high)
        middle, half = (low + high) / 2, 0.7 * (high - low) / 2
        narrow.append(abs(0.15 - middle) <= half)
    assert stats.binomtest(sum(held), 100, 0.95).pvalue > 0.001
    assert stats.binomtest(sum(narrow), 100, 0.95).pvalue < 0.001


@pytest.mark.statistical
def test_the_interval_of_a_lead_over_a_control_holds_its_own_draw_and_without_it_holds_the_truth_too_seldom():
    held, without = [], []
    for seed in range(100):
        random = np.random.default_rng([9, seed])
        # A random choice teaches .6 in the mean; one draw of it differs from that by .08, and so do its redraws.
        drawn = 0.6 + 0.08 * random.normal()
        sets = {DATASET: 0.75, SHOTS: 0.9, RANDOM: drawn}
        right = {name: np.repeat(random.random((1, 200)) < each, 3, axis=0) for name, each in sets.items()}
        redrawn = {RANDOM: drawn + 0.08 * random.normal(size=5)}
        for found, draws in ((held, redrawn), (without, {})):
            _, low, high = Worth.of({"cnn": right}, 2, draws).ahead[RANDOM]
            found.append(low <= 0.15 <= high)
    assert stats.binomtest(sum(held), 100, 0.95).pvalue > 0.001
    assert stats.binomtest(sum(without), 100, 0.95).pvalue < 0.001


@pytest.mark.parametrize(
    ("dataset", "words", "items", "word"),
    [(0.85, 0.55, 400, "unknown"), (0.5, 0.9, 400, "not useful"), (0.5, 0.9, 20, "unknown")],
)
def test_without_private_images_only_what_costs_nothing_can_settle_a_word(dataset, words, items, word):
    sets = {DATASET: dataset, WORDS: words}
    found = Worth.of({"cnn": {name: right_of(each, items) for name, each in sets.items()}}, 2, {})
    assert (found.word, found.share) == (word, None)
    assert found.ahead[WORDS].mean == pytest.approx(dataset - words, abs=0.01)
    assert found.accuracies.keys() == {DATASET, WORDS}


def test_it_is_the_same_each_time_it_is_asked_for():
    assert worth_of(0.7, 0.9).share == worth_of(0.7, 0.9).share
