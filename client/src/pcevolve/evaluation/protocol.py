"""The papers' head: linear, on frozen features, trained as PCEvolve does (section 5 and appendix A)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pcevolve.evaluation.heads import Training, new_layer

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
    layer = new_layer(inputs.shape[1], training.classes, generator)
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


def untrained_head(shapes: Training, seed: int) -> PapersHead:
    """The papers' head before it is trained, their Init.

    Args:
        shapes: Says how wide features are and how many classes there are; nothing is learnt from it.
        seed: Of its weights.
    """
    generator = torch.Generator().manual_seed(seed)
    return PapersHead(new_layer(shapes.features.shape[1], shapes.classes, generator), 1.0)


def _tensor(features: NDArray[np.floating], scale: float) -> torch.Tensor:
    return torch.from_numpy(np.asarray(features / scale, dtype=np.float32))
