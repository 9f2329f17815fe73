"""Accuracy of a head trained on one set and tested on held-out real images."""

import numpy as np
import pytest
import torch
from PIL import Image

from pcevolve.errors import UsageError
from pcevolve.keeper.evaluation.heads import Predict, Training, train_linear
from pcevolve.keeper.evaluation.judge import (
    SEEDS,
    Accuracy,
    AccuracyTest,
    Evaluator,
    EvaluatorAccuracy,
    find_redrawing,
    redraw,
    redraw_all,
)
from pcevolve.keeper.private.bundled import load_digits

pytestmark = pytest.mark.models


class GreyPixels:
    """A public encoder that a test can afford: 8x8 grey values."""

    name = "pixels"
    dimension = 64

    def embed(self, images):
        rows = np.full((len(images), 64), np.nan)
        for row, image in zip(rows, images, strict=True):
            if image is not None:
                row[:] = np.asarray(image.convert("L").resize((8, 8)), dtype=float).ravel() / 255
        return rows


PIXELS = Evaluator("pixels", False, GreyPixels().embed, train_linear)


@pytest.fixture(scope="module")
def digits():
    """Ten real shots each of two digits, and 90 held-out images."""
    shots, rest = load_digits(10, {3: "type A", 5: "type B"})
    return shots, rest.subset(range(0, len(rest), 4))


@pytest.fixture(scope="module")
def linear(digits):
    return AccuracyTest.on(digits[1], PIXELS)


def right_of(test, *sets, seeds=SEEDS):
    """Of each set where its heads were right."""
    said = test.judge.predictions([[test.prepare(each)] * seeds for each in sets], test.features)
    return [np.stack(each) == test.targets for each in said]


def judge_set(test, data, seeds=SEEDS):
    """A test's accuracy of one labelled set."""
    (right,) = right_of(test, (data.items, data.targets), seeds=seeds)
    return Accuracy.of(right.mean(axis=1))


def test_real_shots_teach_a_linear_head_real_digits(digits, linear):
    accuracy = judge_set(linear, digits[0])
    assert accuracy.mean > 0.85
    assert len(accuracy.seeds) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_heads_train_side_by_side_and_are_the_same_however_many_do(digits, linear, threads):
    before, judged = torch.get_num_threads(), judge_set(linear, digits[0], 4)
    torch.set_num_threads(threads)
    try:
        assert judge_set(linear, digits[0], 4).seeds == judged.seeds
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_several_sets_are_judged_as_each_alone_and_torchs_generator_is_left_alone(digits, linear):
    shots, before = digits[0], torch.random.get_rng_state()
    swapped = (shots.items, 1 - np.asarray(shots.targets))
    found = right_of(linear, (shots.items, shots.targets), swapped)
    alone = [*right_of(linear, (shots.items, shots.targets)), *right_of(linear, swapped)]
    assert np.array_equal(found, alone)
    assert found[1].mean() == pytest.approx(1 - found[0].mean(), abs=0.1)
    assert torch.equal(before, torch.random.get_rng_state())


def test_images_without_information_give_chance(linear):
    grey = [Image.new("RGB", (64, 64), (128, 128, 128))] * 6
    assert 0.35 < right_of(linear, (grey, [0, 1] * 3))[0].mean() < 0.65


def test_how_well_a_judge_learnt_a_set_is_that_of_its_worst_seed_and_changes_no_prediction():
    training, other = Training(np.eye(4), np.array([0, 1, 0, 1]), 2), Training(np.eye(4), np.ones(4, int), 2)

    def train(on: Training, seed: int) -> Predict:
        known = on.targets if seed != 1 else np.zeros(4, dtype=np.int64)
        return lambda features: known[features.argmax(axis=1)]

    judge = Evaluator("any", False, lambda images: np.eye(len(images)), train)
    sets, held_out = [[other] * 3, [training] * 3], np.eye(4)[[3]]
    said, learnt = judge.predict_and_check(sets, held_out, 1)
    assert learnt == 0.5
    assert np.array_equal(said, [[[1], [0], [1]], [[1], [0], [1]]])
    assert judge.predict_and_check(sets, held_out, None)[1] is None


def test_ctrl_c_ends_the_trainings_that_are_under_way():
    training, seen = Training(np.zeros((4, 2)), np.arange(4) % 2, 2), []

    def train(on: Training, seed: int) -> Predict:
        if seed:
            seen.append(on.stopping.wait(60))
        return lambda features: np.zeros(len(features), dtype=np.int64)

    def press() -> None:
        raise KeyboardInterrupt

    judge = Evaluator("any", False, lambda images: np.zeros((len(images), 2)), train)
    with pytest.raises(KeyboardInterrupt):
        judge.predictions([[training] * 3], np.zeros((1, 2)), press)
    assert all(seen)


def test_a_set_that_is_drawn_again_has_as_many_of_each_class_and_other_images():
    targets = np.array([0, 1, 1, 0, 1, 1, 0, 0, 1, 2])
    training = Training(np.arange(10.0)[:, None], targets, 3)
    again = redraw_all({"words": training, "dataset": training}, ("words", "random"))
    assert again.keys() == {"words"}
    assert len(again["words"]) == 5
    for each in again["words"]:
        assert sorted(each.targets.tolist()) == sorted(targets.tolist())
        assert np.array_equal(targets[each.features[:, 0].astype(int)], each.targets), "each keeps its class"
        assert len(np.unique(each.features)) < 10
    first, second = (each.features.ravel().tolist() for each in again["words"][:2])
    assert first != second
    assert redraw(training, 0).features.ravel().tolist() == first


def test_a_head_is_asked_how_far_a_control_differs_from_draw_to_draw_though_it_voted():
    slow = Evaluator("cnn", False, PIXELS.look, lambda on, seed: lambda rows: rows)
    voted = Evaluator("bundled", True, PIXELS.look, train_linear)
    assert find_redrawing([slow, voted]) is voted
    assert find_redrawing([slow]) is slow


def test_fewer_than_three_seeds_are_refused(digits, linear):
    with pytest.raises(UsageError, match="accuracy over 2 seeds was requested: use 3 seeds or more"):
        judge_set(linear, digits[0], 2)


def test_a_verdict_has_the_golden_numbers():
    truth = np.array([0, 0, 0, 1, 1, 2])
    said = [np.array([0, 0, 1, 1, 1, 2]), np.array([0, 0, 0, 1, 0, 0]), truth]
    found = EvaluatorAccuracy.of(said, truth, ("a", "b", "c", "d"))
    assert found.accuracy.mean == pytest.approx((5 / 6 + 4 / 6 + 1) / 3)
    assert found.confusion == ((8, 1, 0, 0), (1, 5, 0, 0), (1, 0, 2, 0), (0, 0, 0, 0))
    assert found.per_class == pytest.approx({"a": 8 / 9, "b": 5 / 6, "c": 2 / 3})
    first = (2 * 1 * (2 / 3) / (1 + 2 / 3) + 2 * (2 / 3) * 1 / (2 / 3 + 1) + 1) / 3
    second = (2 * (3 / 5) * 1 / (3 / 5 + 1) + 2 * 1 * (1 / 2) / (1 + 1 / 2) + 0) / 3
    assert found.macro_f1 == pytest.approx((first + second + 1) / 3)
