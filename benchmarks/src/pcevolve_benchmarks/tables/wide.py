"""A judge that is trained from scratch as Private Evolution's is: a wide residual network, and ensembles of it.

Sources: Zagoruyko and Komodakis 2016, "Wide Residual Networks" (arXiv 1605.07146), whose settings these are; Lin et al.
2024, section 5.1 and appendix J, who add colour jitter and average the scores of five networks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pcevolve.errors import UsageError
from pcevolve.keeper.evaluation.heads import Training
from pcevolve.keeper.evaluation.judge import Features
from pcevolve.public.encoders.singly import pixel_array
from pcevolve.public.media import Item
from pcevolve_benchmarks.heads import TableJudge

SHALLOWEST = 10
"""Layers of a network with one block in each of its three groups; each further block has six more."""
SIDE = 32
"""Pixels of a side of what the network sees, as of CIFAR-10."""
EPOCHS, DROPS, BATCH = 200, (60, 120, 160), 128
RATE, DECAY, MOMENTUM, DROP = 0.1, 5e-4, 0.9, 0.2
PADDING = 4
"""Pixels by which a crop may move."""
JITTER = 0.2
"""Brightness, contrast and saturation are multiplied by 1 ± this."""
WIDE = "wrn-"
"""Before a network's depth and width."""


@dataclass(frozen=True, eq=False)
class WideNetwork:
    """A trained network; says the class of each image, and how sure it is."""

    network: nn.Module

    def __call__(self, features: NDArray[np.floating]) -> NDArray[np.int64]:
        """Classes, int64 ``(n,)``, of pixels ``(n, 3, side, side)`` in 0..1."""
        return np.asarray(self.scores(features).argmax(axis=1))

    def scores(self, features: NDArray[np.floating]) -> NDArray[np.float32]:
        """Logits, float32 ``(n, classes)``; those of several networks are averaged for an ensemble."""
        self.network.eval()
        with torch.inference_mode():
            parts = [self.network(each) for each in torch.split(_tensor(features), BATCH)]
        return np.asarray(torch.cat(parts).numpy())


def make_wide_judge(name: str) -> TableJudge:
    """The judge ``wrn-DEPTH-WIDTH``; Private Evolution's is ``wrn-40-4``.

    Raises:
        UsageError: There is no such network.
    """
    found = re.fullmatch(WIDE + r"(\d+)-(\d+)", name)
    depth, width = map(int, found.groups()) if found else (0, 0)
    if depth < SHALLOWEST or (depth - SHALLOWEST) % 6 or not width:
        raise UsageError(
            f"--judge {name}: write wrn-DEPTH-WIDTH with a depth of 10, 16, 22, 28, 34, 40 and so on"
        )
    return TableJudge(
        name,
        voted=False,
        look=_look,
        train=partial(train_wide, depth=depth, width=width),
        untrained=partial(train_wide, depth=depth, width=width, epochs=0),
    )


def train_wide(training: Training, seed: int, depth: int, width: int, epochs: int = EPOCHS) -> WideNetwork:
    """Train a network from scratch; its batch statistics are of the training set, which is synthetic or public.

    Args:
        training: Features are pixels, ``(images, 3, side, side)`` in 0..1.
        seed: Of first weights, batches and augmentation.
        depth: 6n + 4.
        width: By which the residual groups are wider than 16, 32 and 64 channels.
        epochs: 0 for a network that has learnt nothing.
    """
    generator = torch.Generator().manual_seed(seed)
    network = _network(training.classes, depth, width, generator)
    inputs, targets = _tensor(training.features), torch.from_numpy(training.targets.copy())
    optimiser = torch.optim.SGD(
        network.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, milestones=list(DROPS), gamma=DROP)
    network.train()
    for _ in range(epochs):
        for batch in torch.split(torch.randperm(len(inputs), generator=generator), BATCH):
            scores = network(_augment(inputs[batch], generator))
            loss = nn.functional.cross_entropy(scores, targets[batch])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        schedule.step()
    return WideNetwork(network)


class _Block(nn.Module):
    """Two convolutions beside a short cut, each after normalisation and a rectifier."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU())
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
        )
        same = inputs == outputs and stride == 1
        self.short = None if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """From ``(n, inputs, h, w)`` to ``(n, outputs, h / stride, w / stride)``."""
        seen = self.first(x)
        beside: Tensor = x if self.short is None else self.short(seen)
        return torch.add(beside, self.body(seen))


def _network(classes: int, depth: int, width: int, generator: torch.Generator) -> nn.Module:
    widths = [16, 16 * width, 32 * width, 64 * width]
    blocks: list[nn.Module] = [nn.Conv2d(3, widths[0], 3, 1, 1, bias=False)]
    for group in range(3):
        for place in range((depth - 4) // 6):
            inputs = widths[group] if place == 0 else widths[group + 1]
            blocks.append(_Block(inputs, widths[group + 1], 2 if place == 0 and group else 1))
    ends = [nn.BatchNorm2d(widths[3]), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    network = nn.Sequential(*blocks, *ends, nn.Linear(widths[3], classes))
    for each in network.modules():
        if isinstance(each, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(each.weight, generator=generator)
    nn.init.zeros_(network[-1].bias)  # type: ignore[arg-type]
    return network


def _augment(images: Tensor, generator: torch.Generator) -> Tensor:
    """Each image mirrored or not, moved by some pixels, and its colours changed a little."""
    padded = nn.functional.pad(images, (PADDING,) * 4, mode="reflect")
    count, side = len(images), images.shape[-1]
    moves = torch.randint(0, 2 * PADDING + 1, (count, 2), generator=generator).tolist()
    moved = torch.stack(
        [
            each[:, top : top + side, left : left + side]
            for each, (top, left) in zip(padded, moves, strict=True)
        ]
    )
    mirrored = torch.rand(count, generator=generator) < 0.5
    moved[mirrored] = moved[mirrored].flip(-1)
    bright, contrast, colour = 1 + JITTER * (2 * torch.rand((3, count, 1, 1, 1), generator=generator) - 1)
    seen = moved * bright
    seen = seen.mean(dim=(1, 2, 3), keepdim=True) + contrast * (seen - seen.mean(dim=(1, 2, 3), keepdim=True))
    grey = seen.mean(dim=1, keepdim=True)
    return torch.lerp(grey, seen, colour)


def ensemble(networks: Sequence[WideNetwork], features: NDArray[np.floating]) -> NDArray[np.int64]:
    """Classes by the mean of all networks' scores, int64 ``(n,)``."""
    return np.asarray(np.mean([each.scores(features) for each in networks], axis=0).argmax(axis=1))


def _look(images: Iterable[Item | None]) -> Features:
    return pixel_array(list(images), SIDE)


def _tensor(features: NDArray[np.floating]) -> Tensor:
    return torch.from_numpy(np.asarray(features, dtype=np.float32)) * 2 - 1
