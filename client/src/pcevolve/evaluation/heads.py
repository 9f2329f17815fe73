"""Heads on frozen features and a small network from scratch, trained as the PCEvolve paper does or quicker.

Source of randomness: an explicit seed per head; nothing here touches torch's global generator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Predict: TypeAlias = Callable[[NDArray[np.floating]], NDArray[np.int64]]

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
# A coordinate that hardly varies in the training set must not be blown up on real data.
_LEAST_SCALE = 0.05  # of the mean standard deviation


@dataclass(frozen=True, eq=False, repr=False)
class Training:
    """A labelled training set; finite features ``(images, ...)``, int64 targets, class count."""

    features: NDArray[np.floating]
    targets: NDArray[np.int64]
    classes: int


def make_layer(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer with torch's own first weights, but drawn from a generator of ours, and no bias yet."""
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
    bound = inputs**-0.5
    nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer


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
        return torch.from_numpy(((features - centre) / spread).astype(np.float32))

    inputs = standardise(training.features)
    linear = make_layer(inputs.shape[1], training.classes, generator)
    _fit(linear, inputs, training, _LINEAR_RATE, generator)
    return lambda features: _predict(linear, standardise(features))


def train_cnn(training: Training, seed: int, steps: int = _STEPS) -> Predict:
    """Train a small convolutional network from scratch; normalises by groups, never by batch.

    Args:
        training: Features are pixels, ``(images, 3, side, side)`` in 0..1.
        steps: Batches that it learns from, which bounds the time whatever the set's size.

    Returns:
        A function from pixels to int64 ``(n,)``.
    """
    generator = torch.Generator().manual_seed(seed)
    network = _cnn(training.classes, generator)
    _fit(network, torch.from_numpy(training.features).float(), training, _CNN_RATE, generator, steps)
    return lambda features: _predict(network, torch.from_numpy(features).float())


def time_cnn(few: Training, images: int) -> float:
    """Return about how long ``train_cnn`` will take, from a few of its steps; see ``head_seconds``."""
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
    for batch in _batches(len(inputs), generator, steps):
        loss = nn.functional.cross_entropy(network(inputs[batch]), targets[batch])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _batches(count: int, generator: torch.Generator, steps: int) -> Iterator[Tensor]:
    """Yield a fixed number of batches of indices, every image once per pass."""
    left = steps
    while left:
        for batch in torch.split(torch.randperm(count, generator=generator), _BATCH)[:left]:
            yield batch
            left -= 1


def _predict(network: nn.Module, inputs: Tensor) -> NDArray[np.int64]:
    network.eval()
    with torch.inference_mode():
        guesses = [network(batch).argmax(dim=1) for batch in torch.split(inputs, _BATCH)]
    return torch.cat(guesses).numpy()


EPOCHS, BATCH, RATE = 100, 16, 1e-3


@dataclass(frozen=True, eq=False)
class PapersHead:
    """A linear layer on features that are divided by one number; says the class of each row.

    Attributes:
        layer: From features to a score for each class.
        scale: By which features are divided.
    """

    layer: nn.Linear
    scale: float

    def __call__(self, features: NDArray[np.floating]) -> NDArray[np.int64]:
        """Classes, int64 ``(n,)``, of features ``(n, dimension)``."""
        with torch.inference_mode():
            return np.asarray(self.layer(_tensor(features, self.scale)).argmax(dim=1).numpy())

    def loss(self, labelled: Training) -> float:
        """Mean cross-entropy, in nats, on labelled features."""
        with torch.inference_mode():
            scores = self.layer(_tensor(labelled.features, self.scale))
            return float(nn.functional.cross_entropy(scores, torch.from_numpy(labelled.targets.copy())))


def train_papers_head(training: Training, seed: int, *, as_published: bool = False) -> PapersHead:
    """Train a linear layer with AdamW and a cosine schedule; the last epoch counts.

    Features are divided by their root mean square over the training set, one number, because a learning rate means
    nothing without a scale and encoders differ in theirs.

    Args:
        training: Features ``(images, dimension)``.
        seed: Of initial weights and batch order.
        as_published: Whether the layer has no bias and takes features as they are, as in PCEvolve's published code.

    Returns:
        The head: from features ``(n, dimension)`` to int64 ``(n,)``.
    """
    generator = torch.Generator().manual_seed(seed)
    scale = 1.0 if as_published else float(np.sqrt(np.mean(np.square(training.features)))) or 1.0
    inputs, targets = _tensor(training.features, scale), torch.from_numpy(training.targets.copy())
    layer = make_layer(inputs.shape[1], training.classes, generator)
    if as_published:
        layer.register_parameter("bias", None)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=EPOCHS)
    for _ in range(EPOCHS):
        for batch in torch.split(torch.randperm(len(inputs), generator=generator), BATCH):
            loss = nn.functional.cross_entropy(layer(inputs[batch]), targets[batch])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        schedule.step()

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
    return PapersHead(make_layer(shapes.features.shape[1], shapes.classes, generator), 1.0)


def _tensor(features: NDArray[np.floating], scale: float) -> torch.Tensor:
    return torch.from_numpy(np.asarray(features / scale, dtype=np.float32))
