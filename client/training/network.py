"""The bundled encoder's network for torch, which trains it; ``pcevolve.public.encoders.bundled`` computes the same."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional as tf

from pcevolve.public.encoders.bundled import COARSE, EMBEDDING_SIZE, GROUPS, LAYOUT, LEAST_VARIANCE, WIDTHS


class _Residual(nn.Module):
    """Halve the resolution, then add one residual pair of convolutions."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1)
        self.first = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(GROUPS, outputs) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        x = tf.silu(self.norms[0](self.down(x)))
        y = tf.silu(self.norms[1](self.first(x)))
        return tf.silu(x + self.norms[2](self.second(y)))


class BundledNet(nn.Module):
    """Map images to embeddings; the same image always gives the same embedding in eval mode."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTHS[0], 5, stride=2, padding=2)
        self.stages = nn.ModuleList(_Residual(a, b) for a, b in itertools.pairwise(WIDTHS))
        statistics = 2 * sum(WIDTHS[1:])
        last = WIDTHS[-1] * (1 + LAYOUT**2)
        self.project = nn.Linear(statistics + last + 3 * (1 + COARSE**2), EMBEDDING_SIZE)

    def forward(self, images: Tensor) -> Tensor:
        """Embed a batch.

        Args:
            images: float32 ``(batch, 3, side, side)`` in 0..1; the side is 64.

        Returns:
            float32 ``(batch, 256)``; compare by Euclidean distance.
        """
        pixels = images * 2 - 1
        x = tf.silu(self.stem(pixels))
        statistics = []
        for stage in self.stages:
            x = stage(x)
            # Mean and spread of a stage say which texture there is, wherever it is.
            statistics += [x.mean((2, 3)), _spread(x)]
        layout = tf.adaptive_avg_pool2d(x, LAYOUT)
        coarse = tf.adaptive_avg_pool2d(pixels, COARSE)
        parts = [x.amax((2, 3)), layout.flatten(1), coarse.flatten(1), _spread(pixels), *statistics]
        out: Tensor = self.project(torch.cat(parts, 1))
        return out


def _spread(x: Tensor) -> Tensor:
    """Standard deviation over the positions of each channel, ``(batch, channels)``."""
    return (x.var((2, 3), unbiased=False) + LEAST_VARIANCE).sqrt()
