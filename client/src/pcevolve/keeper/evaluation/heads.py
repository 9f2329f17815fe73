"""Two classifiers for judging datasets: a linear head on frozen features, and a small network trained from scratch.

Each network draws its randomness from an explicit seed and its own generator, never from torch's global
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Event
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pcevolve_shared.memory import keep_memory

Predict: TypeAlias = Callable[[NDArray[np.floating]], NDArray[np.int64]]

CNN_SIDE = 64  # side of the convolutional network's images, in pixels
_CNN_WIDTHS = (3, 16, 32, 64, 64)
BATCH = 64
STEPS = 400
QUICK_STEPS = 100
"""Number of training steps of the convolutional network when a person waits for the result."""
_LINEAR_RATE = 1e-2
_CNN_RATE = 2e-3
_WEIGHT_DECAY = 1e-3
# A lower bound, because dividing by a tiny spread of the training set would inflate that coordinate on real
# data.
_LEAST_SCALE = 0.05  # of the mean standard deviation


@dataclass(frozen=True, eq=False, repr=False)
class Training:
    """A labelled training set: finite features ``(images, ...)``, int64 targets, number of classes.

    Attributes:
        stopping: Set when the results are no longer wanted; every training on this set then raises
            ``CancelledError``.
        most: Largest number of training steps, used to measure a step's time; None for no limit.
    """

    features: NDArray[np.floating]
    targets: NDArray[np.int64]
    classes: int
    stopping: Event = field(default_factory=Event)
    most: int | None = None

    def batches(self, generator: torch.Generator, size: int, steps: int) -> Iterator[Tensor]:
        """Yield a fixed number of batches of indices; each pass contains every image once."""
        left = steps if self.most is None else min(steps, self.most)
        while left:
            for batch in torch.split(torch.randperm(len(self.targets), generator=generator), size)[:left]:
                if self.stopping.is_set():
                    raise CancelledError
                yield batch
                left -= 1


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

    def standardise(features: NDArray[np.floating]) -> Tensor:
        return torch.from_numpy((features - centre) / spread).float()

    layer = make_linear(training, generator)
    inputs = standardise(training.features)
    optimiser = torch.optim.Adam(layer.parameters(), lr=_LINEAR_RATE, weight_decay=_WEIGHT_DECAY)
    descend(layer, optimiser, inputs, training, training.batches(generator, BATCH, STEPS))
    return lambda features: _predict(layer, standardise(features))


def make_linear(training: Training, generator: torch.Generator, *, bias: bool = True) -> nn.Linear:
    """Return a linear layer with torch's default initialisation from a given generator, and a zero bias."""
    width = training.features.shape[1]
    layer = nn.Linear(width, training.classes, bias=bias, device="meta").to_empty(device="cpu")
    nn.init.uniform_(layer.weight, -(width**-0.5), width**-0.5, generator=generator)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def train_cnn(training: Training, seed: int, steps: int = STEPS) -> Predict:
    """Train a small convolutional network from scratch; it uses group normalisation, never batch normalisation.

    Args:
        training: Features are pixels, ``(images, 3, side, side)`` in 0..1.
        steps: Number of training batches, which bounds the time for any set size.

    Returns:
        A function from pixels to int64 ``(n,)``.
    """
    keep_memory()
    generator = torch.Generator().manual_seed(seed)
    network = _make_cnn(training.classes, generator)
    inputs = torch.from_numpy(training.features).float()
    optimiser = torch.optim.Adam(network.parameters(), lr=_CNN_RATE, weight_decay=_WEIGHT_DECAY)
    descend(network, optimiser, inputs, training, training.batches(generator, BATCH, steps))
    return lambda features: _predict(network, torch.from_numpy(features).float())


def _make_cnn(classes: int, generator: torch.Generator) -> nn.Module:
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


def descend(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    inputs: Tensor,
    training: Training,
    batches: Iterator[Tensor],
) -> None:
    """Take an optimiser step on the mean cross-entropy of each batch of indices."""
    targets = torch.from_numpy(training.targets)
    network.train()
    for batch in batches:
        loss = nn.functional.cross_entropy(network(inputs[batch]), targets[batch])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _predict(network: nn.Module, inputs: Tensor) -> NDArray[np.int64]:
    network.eval()
    with torch.inference_mode():
        guesses = [network(batch).argmax(dim=1) for batch in torch.split(inputs, BATCH)]
    return torch.cat(guesses).numpy()
