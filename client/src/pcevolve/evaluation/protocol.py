"""The papers' head: linear, on frozen features, trained as PCEvolve does (section 5 and appendix A)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pcevolve.evaluation.heads import Predict, Training, new_layer

EPOCHS, BATCH, RATE = 100, 16, 1e-3


def train_papers_head(training: Training, seed: int) -> Predict:
    """Train a linear layer with AdamW and a cosine schedule; the last epoch counts.

    Features are divided by their root mean square over the training set, one number, because a learning rate means
    nothing without a scale and encoders differ in theirs.

    Args:
        training: Features ``(images, dimension)``.
        seed: Of initial weights and batch order.

    Returns:
        A function from features ``(n, dimension)`` to int64 ``(n,)``.
    """
    generator = torch.Generator().manual_seed(seed)
    scale = float(np.sqrt(np.mean(np.square(training.features)))) or 1.0
    inputs, targets = _tensor(training.features, scale), torch.from_numpy(training.targets.copy())
    layer = new_layer(inputs.shape[1], training.classes, generator)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=EPOCHS)
    for _ in range(EPOCHS):
        for batch in torch.split(torch.randperm(len(inputs), generator=generator), BATCH):
            loss = nn.functional.cross_entropy(layer(inputs[batch]), targets[batch])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        schedule.step()

    def predict(features: NDArray[np.floating]) -> NDArray[np.int64]:
        with torch.inference_mode():
            return np.asarray(layer(_tensor(features, scale)).argmax(dim=1).numpy())

    return predict


def _tensor(features: NDArray[np.floating], scale: float) -> torch.Tensor:
    return torch.from_numpy(np.asarray(features / scale, dtype=np.float32))
