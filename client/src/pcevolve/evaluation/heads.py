"""Heads on frozen features and a small network from scratch, trained as the PCEvolve paper does or quicker.

A head takes thousands of steps that are so small that torch needs ten times as long to call its operations as they
take: NumPy makes the same ones. Source of randomness: an explicit seed per head, by torch's generator, so that first
weights and batches are torch's; nothing here touches its global one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Event
from typing import Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp
from torch import Tensor, nn

from pcevolve_shared.memory import keep_memory

Predict: TypeAlias = Callable[[NDArray[np.floating]], NDArray[np.int64]]
Single: TypeAlias = NDArray[np.float32]

CNN_SIDE = 64  # pixels of a side of what the convolutional network sees
_CNN_WIDTHS = (3, 16, 32, 64, 64)
_BATCH = 64
_STEPS = 400
_FEW_STEPS = 5
QUICK_STEPS = 100
"""Of the convolutional network where somebody waits for it."""
_LINEAR_RATE = 1e-2
_CNN_RATE = 2e-3
_WEIGHT_DECAY = 1e-3
_BETAS, _EPSILON = (0.9, 0.999), 1e-8
"""Of Adam, as torch has them."""
# A coordinate that hardly varies in the training set must not be blown up on real data.
_LEAST_SCALE = 0.05  # of the mean standard deviation


@dataclass(frozen=True, eq=False, repr=False)
class Training:
    """A labelled training set; finite features ``(images, ...)``, int64 targets, class count.

    Attributes:
        stopping: Set once nobody wants what is trained on it: every training on it then ends by ``CancelledError``.
    """

    features: NDArray[np.floating]
    targets: NDArray[np.int64]
    classes: int
    stopping: Event = field(default_factory=Event)

    def batches(self, generator: torch.Generator, size: int, steps: int) -> Iterator[Tensor]:
        """Yield a fixed number of batches of indices, every image once per pass."""
        left = steps
        while left:
            for batch in torch.split(torch.randperm(len(self.targets), generator=generator), size)[:left]:
                if self.stopping.is_set():
                    raise CancelledError
                yield batch
                left -= 1


@dataclass(eq=False, repr=False)
class _Layer:
    """A linear layer and its Adam; the last weight of each class is that of a feature that is always 1.

    Attributes:
        weights: float32 ``(classes, inputs + 1)``, changed by every step.
        decay: Of the weights; part of the gradient, or with ``decoupled`` taken off by itself, as AdamW does.
        biased: Whether the constant feature has a weight.
    """

    weights: Single
    decay: float
    decoupled: bool = False
    biased: bool = True
    _steps: int = 0

    def __post_init__(self) -> None:
        self._mean, self._square = np.zeros_like(self.weights), np.zeros_like(self.weights)

    @classmethod
    def draw(cls, inputs: int, classes: int, generator: torch.Generator, decay: float, **how: bool) -> Self:
        """Draw the weights that torch's own layer begins with, but from a generator of ours, and no bias yet."""
        weights = torch.zeros(classes, inputs + 1)
        own = torch.empty(classes, inputs)
        weights[:, :inputs] = nn.init.uniform_(own, -(inputs**-0.5), inputs**-0.5, generator=generator)
        return cls(weights.numpy(), decay, **how)

    def scores(self, inputs: Single) -> Single:
        """Logits, float32 ``(n, classes)``, of float32 ``(n, inputs + 1)``."""
        return np.asarray(inputs @ self.weights.T)

    def step(self, inputs: Single, targets: NDArray[np.int64], rate: float) -> None:
        """Descend by the mean cross-entropy of a batch."""
        scores = self.scores(inputs)
        slope = np.exp(scores - scores.max(axis=1, keepdims=True))
        slope /= slope.sum(axis=1, keepdims=True)
        slope[np.arange(len(slope)), targets] -= 1
        slope /= len(slope)
        gradient = slope.T @ inputs
        if not self.biased:
            gradient[:, -1] = 0
        if self.decoupled:
            self.weights *= np.float32(1 - rate * self.decay)
        else:
            gradient += np.float32(self.decay) * self.weights
        self._steps += 1
        self._mean += np.float32(1 - _BETAS[0]) * (gradient - self._mean)
        self._square *= np.float32(_BETAS[1])
        self._square += np.float32(1 - _BETAS[1]) * np.square(gradient)
        first, second = (1 - beta**self._steps for beta in _BETAS)
        size = np.sqrt(self._square)
        size /= np.float32(second**0.5)
        size += np.float32(_EPSILON)
        self.weights -= np.float32(rate / first) * (self._mean / size)


def _with_ones(features: NDArray[np.floating]) -> Single:
    """Features as float32, and a last one that is 1 throughout."""
    rows = np.ones((len(features), features.shape[1] + 1), dtype=np.float32)
    rows[:, :-1] = features
    return rows


def train_linear(training: Training, seed: int) -> Predict:
    """Train softmax regression on standardised embeddings with Adam.

    Args:
        training: Features ``(images, dimension)``.

    Returns:
        A function from features ``(n, dimension)`` to int64 ``(n,)``.
    """
    generator = torch.Generator().manual_seed(seed)
    centre = training.features.mean(axis=0)
    spread = training.features.std(axis=0)
    spread = np.maximum(spread, _LEAST_SCALE * spread.mean() + np.finfo(np.float32).tiny)

    def standardise(features: NDArray[np.floating]) -> Single:
        return _with_ones((features - centre) / spread)

    inputs = standardise(training.features)
    layer = _Layer.draw(inputs.shape[1] - 1, training.classes, generator, _WEIGHT_DECAY)
    for batch in training.batches(generator, _BATCH, _STEPS):
        layer.step(inputs[batch.numpy()], training.targets[batch.numpy()], _LINEAR_RATE)
    return lambda features: np.asarray(layer.scores(standardise(features)).argmax(axis=1))


def train_cnn(training: Training, seed: int, steps: int = _STEPS) -> Predict:
    """Train a small convolutional network from scratch; normalises by groups, never by batch.

    Args:
        training: Features are pixels, ``(images, 3, side, side)`` in 0..1.
        steps: Batches that it learns from, which bounds the time whatever the set's size.

    Returns:
        A function from pixels to int64 ``(n,)``.
    """
    keep_memory()
    generator = torch.Generator().manual_seed(seed)
    network = _cnn(training.classes, generator)
    _fit(network, torch.from_numpy(training.features).float(), training, _CNN_RATE, generator, steps)
    return lambda features: _predict(network, torch.from_numpy(features).float())


def time_cnn(few: Training, images: int) -> float:
    """Return about how long ``train_cnn`` will take, from a few of its steps; see ``time_head``."""
    places = np.resize(np.arange(len(few.targets)), _BATCH)
    repeated = Training(few.features[places], few.targets[places], few.classes)
    train_cnn(repeated, 0, steps=1)  # the first step prepares what all others use
    return _seconds(lambda: train_cnn(repeated, 0, steps=_FEW_STEPS)) * _STEPS / _FEW_STEPS


def make_untrained_cnn(shapes: Training, seed: int) -> Predict:
    """The network before it is trained."""
    network = _cnn(shapes.classes, torch.Generator().manual_seed(seed))
    return lambda features: _predict(network, torch.from_numpy(features).float())


def _cnn(classes: int, generator: torch.Generator) -> nn.Module:
    blocks: list[nn.Module] = []
    with torch.device("meta"):  # initialised below, from the given generator alone
        for inputs, outputs in pairwise(_CNN_WIDTHS):
            blocks += [
                nn.Conv2d(inputs, outputs, 3, stride=2, padding=1),
                nn.GroupNorm(4, outputs),
                nn.ReLU(),
            ]
        blocks += [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * _CNN_WIDTHS[-1], classes)]
    network = nn.Sequential(*blocks).to_empty(device="cpu")
    for module in network:
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, generator=generator)
            nn.init.zeros_(module.bias)  # type: ignore[arg-type]
        elif isinstance(module, nn.GroupNorm):
            module.reset_parameters()
    return network


def _fit(
    network: nn.Module,
    inputs: Tensor,
    training: Training,
    rate: float,
    generator: torch.Generator,
    steps: int = _STEPS,
) -> None:
    targets = torch.from_numpy(training.targets)
    optimiser = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=_WEIGHT_DECAY)
    network.train()
    for batch in training.batches(generator, _BATCH, steps):
        loss = nn.functional.cross_entropy(network(inputs[batch]), targets[batch])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _predict(network: nn.Module, inputs: Tensor) -> NDArray[np.int64]:
    network.eval()
    with torch.inference_mode():
        guesses = [network(batch).argmax(dim=1) for batch in torch.split(inputs, _BATCH)]
    return torch.cat(guesses).numpy()


EPOCHS, BATCH, RATE, HEAD_DECAY = 100, 16, 1e-3, 1e-2


@dataclass(frozen=True, eq=False)
class PapersHead:
    """A linear layer on features that are divided by one number, ``scale``; says the class of each row."""

    layer: _Layer
    scale: float

    def __call__(self, features: NDArray[np.floating]) -> NDArray[np.int64]:
        """Classes, int64 ``(n,)``, of features ``(n, dimension)``."""
        return np.asarray(self.layer.scores(_with_ones(features / self.scale)).argmax(axis=1))

    def loss(self, labelled: Training) -> float:
        """Mean cross-entropy, in nats, on labelled features."""
        scores = self.layer.scores(_with_ones(labelled.features / self.scale)).astype(np.float64)
        own = scores[np.arange(len(scores)), labelled.targets]
        return float(np.mean(logsumexp(scores, axis=1) - own))


def train_papers_head(training: Training, seed: int, *, as_published: bool = False) -> PapersHead:
    """Train a linear layer with AdamW and a cosine schedule; the last epoch counts.

    Features are divided by their root mean square over the training set, one number, because a learning rate means
    nothing without a scale and encoders differ in theirs.

    Args:
        as_published: Whether the layer has no bias and takes features as they are, as in PCEvolve's published code.

    Returns:
        The head: from features ``(n, dimension)`` to int64 ``(n,)``.
    """
    generator = torch.Generator().manual_seed(seed)
    scale = 1.0 if as_published else float(np.sqrt(np.mean(np.square(training.features)))) or 1.0
    inputs, width = _with_ones(training.features / scale), training.features.shape[1]
    layer = _Layer.draw(
        width, training.classes, generator, HEAD_DECAY, decoupled=True, biased=not as_published
    )
    in_epoch = math.ceil(len(inputs) / BATCH)
    for step, batch in enumerate(training.batches(generator, BATCH, EPOCHS * in_epoch)):
        rate = RATE * (1 + math.cos(math.pi * (step // in_epoch) / EPOCHS)) / 2
        layer.step(inputs[batch.numpy()], training.targets[batch.numpy()], rate)
    return PapersHead(layer, scale)


def time_head(few: Training, images: int) -> float:
    """Return about how long ``train_papers_head`` will take, from a head on a few images.

    Args:
        few: At most a batch of what it will be trained on.
        images: How many it will be trained on.

    Returns:
        Seconds.
    """
    return _seconds(lambda: train_papers_head(few, 0)) * images / BATCH


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def make_untrained_head(shapes: Training, seed: int) -> PapersHead:
    """The papers' head before it is trained, their Init."""
    generator = torch.Generator().manual_seed(seed)
    return PapersHead(_Layer.draw(shapes.features.shape[1], shapes.classes, generator, 0.0), 1.0)
