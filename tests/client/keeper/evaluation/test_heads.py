"""Heads are trained on released images alone, and alike by the same seed."""

from __future__ import annotations

from concurrent.futures import CancelledError
from functools import partial

import numpy as np
import pytest

from pcevolve.keeper.evaluation.heads import Training, train_cnn, train_linear

pytestmark = pytest.mark.models


@pytest.mark.parametrize(
    ("train", "shape"), [(train_linear, (8, 40)), (partial(train_cnn, steps=10), (8, 3, 16, 16))]
)
def test_seeds_differ_in_their_heads(train, shape):
    random = np.random.default_rng(0)
    training = Training(random.normal(size=shape), np.array([0, 1] * 4), 2)
    probes = random.normal(size=(400, *shape[1:]))
    assert (train(training, 0)(probes) != train(training, 1)(probes)).any()


@pytest.mark.parametrize("train", [train_linear, train_cnn])
def test_a_training_ends_as_soon_as_nobody_wants_it(train):
    training = Training(np.zeros((4, 3, 8, 8) if train is train_cnn else (4, 2)), np.arange(4) % 2, 2)
    training.stopping.set()
    with pytest.raises(CancelledError):
        train(training, 0)


def test_head_is_standardised_by_its_training_set_alone():
    random = np.random.default_rng(0)
    training = Training(random.normal(size=(20, 4)), np.arange(20) % 2, 2)
    predict = train_linear(training, 0)
    probes = random.normal(size=(10, 4))
    together = predict(np.concatenate([probes, 1e6 * np.ones((1, 4))]))
    assert np.array_equal(together[:10], predict(probes))


def test_coordinate_that_is_constant_in_training_cannot_decide_on_real_data():
    features = np.array([[0.0, 5.0], [0.1, 5.0], [1.0, 5.0], [1.1, 5.0]])
    predict = train_linear(Training(features, np.array([0, 0, 1, 1]), 2), 0)
    assert predict(np.array([[0.0, 5.001], [1.0, 4.999]])).tolist() == [0, 1]
