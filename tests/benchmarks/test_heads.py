"""The PCEvolve paper's head, and heads before they are trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pcevolve.keeper.evaluation.heads import Training
from pcevolve.keeper.evaluation.judge import Evaluator
from pcevolve_benchmarks.heads import make_untrained_cnn, train_papers_head, with_papers_head

pytestmark = pytest.mark.models


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


def test_its_rate_falls_by_half_a_cosine_from_a_thousandth(monkeypatch: pytest.MonkeyPatch):
    rates: list[float] = []
    step = torch.optim.AdamW.step
    monkeypatch.setattr(
        torch.optim.AdamW, "step", lambda own: rates.append(own.param_groups[0]["lr"]) or step(own)
    )
    train_papers_head(Training(*blobs(20, 0), 3), 0)
    assert len(rates) == 200, "two batches of at most 16 in each of 100 epochs"
    assert rates[:2] == [1e-3, 1e-3]
    assert rates[100] == pytest.approx(5e-4)
    assert rates[-1] == pytest.approx(1e-3 * (1 + np.cos(0.99 * np.pi)) / 2)


def test_it_has_no_bias_and_as_published_takes_features_as_they_are():
    training = Training(*blobs(30, 0, 7.0), 3)
    ours, published = (train_papers_head(training, 0, as_published=each) for each in (False, True))
    assert (published.layer.bias, published.scale, ours.layer.bias) == (None, 1.0, None)
    assert ours.scale == pytest.approx(np.sqrt(np.mean(training.features**2)))


def test_the_network_from_scratch_keeps_its_own_training_and_others_get_the_papers():
    def train(training: Training, seed: int):
        return len

    cnn, other = (with_papers_head(Evaluator(name, False, np.array, train)) for name in ("cnn", "bundled"))
    assert (cnn.train, cnn.untrained) == (train, make_untrained_cnn)
    assert other.train is train_papers_head
    pixels = np.random.default_rng(0).random((4, 3, 16, 16))
    assert cnn.untrained(Training(pixels, np.arange(4) % 2, 2), 0)(pixels).shape == (4,)
