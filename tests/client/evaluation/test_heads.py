"""The papers' head, what is told of its verdicts, and the time that it is said to take."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pcevolve.evaluation import heads
from pcevolve.evaluation.clock import Clock, _Pace
from pcevolve.evaluation.heads import Training, train_papers_head
from pcevolve.evaluation.judge import Judge, Verdict


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


def torch_weights(layer: heads._Layer, training: Training, rates: list[float]) -> np.ndarray:
    """The weights that torch's own Adam or AdamW makes of a layer's, by one step on all images at each rate."""
    features = torch.from_numpy(heads._with_ones(training.features))
    weights = torch.from_numpy(layer.weights.copy()).requires_grad_()
    kept = torch.ones_like(weights)
    kept[:, -1] = float(layer.biased)
    make = torch.optim.AdamW if layer.decoupled else torch.optim.Adam
    optimiser = make([weights], weight_decay=layer.decay)
    for rate in rates:
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        scores = features @ (weights * kept).T
        torch.nn.functional.cross_entropy(scores, torch.from_numpy(training.targets)).backward()
        optimiser.step()
    return weights.detach().numpy()


@pytest.mark.parametrize("how", [{}, {"decoupled": True}, {"decoupled": True, "biased": False}])
def test_a_layer_takes_the_steps_of_torchs_own_optimiser(how: dict[str, bool]):
    training = Training(*blobs(60, 4), 3)
    layer = heads._Layer.draw(8, 3, torch.Generator().manual_seed(1), 0.05, **how)
    rates = [1e-2 / (1 + step) for step in range(40)]
    expected = torch_weights(layer, training, rates)
    begun = layer.weights.copy()
    for rate in rates:
        layer.step(heads._with_ones(training.features), training.targets, rate)
    assert np.abs(layer.weights - begun)[:, :-1].min() > 1e-4
    assert layer.weights == pytest.approx(expected, abs=2e-6)


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


# -- the time that an evaluation is said to take, on a clock of its own -------------------------------------------


@pytest.mark.parametrize("slower", [0.5, 1.0, 3.0])
def test_what_is_left_is_told_at_the_pace_so_far(slower: float):
    now, told = [100.0], []
    judge = Judge("any", False, look=np.array, train=lambda training, seed: len)
    training = Training(np.zeros((40, 2)), np.zeros(40, dtype=np.int64), 1)
    clock = Clock(
        {"any": _Pace(0.1, {40: 10.0})}, 40.0, lambda done, whole: told.append((done, whole)), lambda: now[0]
    )
    now[0] += 10 * slower
    clock.count_look(judge, 100)
    for _ in range(3):
        now[0] += 10 * slower
        clock.count_training(judge, training)
    assert told == [(0, 40), *((10 * n * slower, 40 * slower) for n in (1, 2, 3, 4))]
