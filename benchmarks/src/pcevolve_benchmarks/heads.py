"""The PCEvolve paper's linear head, and heads before they are trained: the papers' Init."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pcevolve.keeper.evaluation.heads import Predict, Training, descend, make_linear, train_cnn
from pcevolve.keeper.evaluation.judge import Evaluator
from pcevolve.public.modality import Images

EPOCHS, BATCH, RATE, DECAY = 100, 16, 1e-3, 1e-2


@dataclass(frozen=True, eq=False)
class PapersHead:
    """A linear layer on features that are divided by one number, ``scale``; says the class of each row."""

    layer: nn.Linear
    scale: float

    def __call__(self, features: NDArray[np.floating]) -> NDArray[np.int64]:
        """Classes, int64 ``(n,)``, of features ``(n, dimension)``."""
        return np.asarray(self.scores(features).argmax(dim=1).numpy())

    def loss(self, labelled: Training) -> float:
        """Mean cross-entropy, in nats, on labelled features."""
        scores, targets = self.scores(labelled.features), torch.from_numpy(labelled.targets)
        return float(nn.functional.cross_entropy(scores, targets))

    def scores(self, features: NDArray[np.floating]) -> Tensor:
        """Logits ``(n, classes)`` of features ``(n, dimension)``."""
        with torch.inference_mode():
            scores: Tensor = self.layer(_scale(features, self.scale))
        return scores


def train_papers_head(training: Training, seed: int, *, as_published: bool = False) -> PapersHead:
    """Train a linear layer without a bias with AdamW and a cosine schedule; the last epoch counts.

    Features are divided by their root mean square over the training set, one number, because a learning rate means
    nothing without a scale and encoders differ in theirs.

    Args:
        as_published: Whether the layer takes features as they are, as in PCEvolve's published code.

    Returns:
        The head: from features ``(n, dimension)`` to int64 ``(n,)``.
    """
    generator = torch.Generator().manual_seed(seed)
    scale = 1.0 if as_published else float(np.sqrt(np.mean(np.square(training.features)))) or 1.0
    layer = make_linear(training, generator, bias=False)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=RATE, weight_decay=DECAY)
    batches = _slow_down(training, generator, optimiser)
    descend(layer, optimiser, _scale(training.features, scale), training, batches)
    return PapersHead(layer, scale)


def _slow_down(
    training: Training, generator: torch.Generator, optimiser: torch.optim.Optimizer
) -> Iterator[Tensor]:
    """Yield batches of all epochs, and set the rate of each: half a cosine over the epochs."""
    in_epoch = math.ceil(len(training.targets) / BATCH)
    for step, batch in enumerate(training.batches(generator, BATCH, EPOCHS * in_epoch)):
        optimiser.param_groups[0]["lr"] = RATE * (1 + math.cos(math.pi * (step // in_epoch) / EPOCHS)) / 2
        yield batch


def _scale(features: NDArray[np.floating], scale: float) -> Tensor:
    return torch.from_numpy(features / scale).float()


def make_untrained_head(shapes: Training, seed: int) -> PapersHead:
    """The papers' head before it is trained."""
    return PapersHead(make_linear(shapes, torch.Generator().manual_seed(seed), bias=False), 1.0)


def make_untrained_cnn(shapes: Training, seed: int) -> Predict:
    """The network from scratch before it is trained."""
    return train_cnn(shapes, seed, steps=0)


@dataclass(frozen=True)
class TableJudge(Evaluator):
    """A judge of a table.

    Attributes:
        untrained: The classifier before it is trained; of the features it takes their width alone.
    """

    untrained: Callable[[Training, int], Predict] = make_untrained_head


def with_papers_head(judge: Evaluator) -> TableJudge:
    """The judge with the PCEvolve paper's head in place of its own; the network from scratch keeps its own."""
    fields = {name: getattr(judge, name) for name in Evaluator.__dataclass_fields__}
    if judge.name == Images.independent_classifier:
        return TableJudge(**fields, untrained=make_untrained_cnn)
    return TableJudge(**{**fields, "train": train_papers_head})
