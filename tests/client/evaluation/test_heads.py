"""The papers' head, and what is told of its verdicts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pcevolve.evaluation.heads import Training, train_papers_head
from pcevolve.evaluation.judge import Verdict


def blobs(count: int, seed: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    random, targets = np.random.default_rng(seed), np.arange(count) % 3
    return scale * (np.eye(3, 8)[targets] * 4 + random.normal(size=(count, 8))), targets


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_it_learns_what_can_be_learned_at_any_scale(scale: float):
    features, targets = blobs(90, 0, scale)
    test, truth = blobs(300, 1, scale)
    said = train_papers_head(Training(features, targets, 3), 0)(test)
    assert (said == truth).mean() > 0.95


def test_it_learns_nothing_where_there_is_nothing():
    features, _ = blobs(90, 0)
    test, truth = blobs(300, 1)
    shuffled = np.random.default_rng(2).permutation(np.arange(90) % 3)
    said = train_papers_head(Training(features, shuffled, 3), 0)(test)
    assert (said == truth).mean() < 0.6


def test_a_seed_is_all_that_it_depends_on():
    features, targets = blobs(30, 0)
    test, _ = blobs(200, 1, 0.3)
    training = Training(features + 5 * np.random.default_rng(3).normal(size=features.shape), targets, 3)
    state = torch.get_rng_state()
    first, again, other = (train_papers_head(training, seed)(test) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert (first == again).all()
    assert (first != other).any()


def test_a_verdict_has_the_golden_numbers():
    truth = np.array([0, 0, 0, 1, 1, 2])
    said = [np.array([0, 0, 1, 1, 1, 2]), np.array([0, 0, 0, 1, 0, 0]), truth]
    found = Verdict.of(said, truth, ("a", "b", "c", "d"))
    assert found.accuracy.mean == pytest.approx((5 / 6 + 4 / 6 + 1) / 3)
    assert found.confusion == ((8, 1, 0, 0), (1, 5, 0, 0), (1, 0, 2, 0), (0, 0, 0, 0))
    assert found.per_class == pytest.approx({"a": 8 / 9, "b": 5 / 6, "c": 2 / 3})
    first = (2 * 1 * (2 / 3) / (1 + 2 / 3) + 2 * (2 / 3) * 1 / (2 / 3 + 1) + 1) / 3
    second = (2 * (3 / 5) * 1 / (3 / 5 + 1) + 2 * 1 * (1 / 2) / (1 + 1 / 2) + 0) / 3
    assert found.macro_f1 == pytest.approx((first + second + 1) / 3)
