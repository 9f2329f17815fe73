"""The encoder that ships with the client: a small residual network over 64x64 RGB images.

It was trained by ``client/training/train_encoder.py`` on public photographs under permissive licences and on rendered
images, to know content (what is shown), texture and low-level appearance (colour, tone, polarity, stroke). It never
reads files other than its own weights and never opens a socket.
"""

from __future__ import annotations

import itertools

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as tf

from pcevolve.encoders import BUNDLED_WEIGHTS

EMBEDDING_SIZE = 256
_WIDTHS = (24, 48, 96, 160)
_GROUPS = 8
_COARSE = 8  # cells across and down of the copy of the image that keeps tone and polarity
_LAYOUT = 2  # cells across and down of the last stage's layout
_LEAST_VARIANCE = 1e-4  # under a square root, whose slope at 0 is infinite


class _Residual(nn.Module):
    """Halve the resolution, then add one residual pair of convolutions."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1)
        self.first = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(_GROUPS, outputs) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        x = tf.silu(self.norms[0](self.down(x)))
        y = tf.silu(self.norms[1](self.first(x)))
        return tf.silu(x + self.norms[2](self.second(y)))


class BundledNet(nn.Module):
    """Map images to embeddings; the same image always gives the same embedding in eval mode."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, _WIDTHS[0], 5, stride=2, padding=2)
        self.stages = nn.ModuleList(_Residual(a, b) for a, b in itertools.pairwise(_WIDTHS))
        statistics = 2 * sum(_WIDTHS[1:])
        last = _WIDTHS[-1] * (1 + _LAYOUT**2)
        self.project = nn.Linear(statistics + last + 3 * (1 + _COARSE**2), EMBEDDING_SIZE)

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
        layout = tf.adaptive_avg_pool2d(x, _LAYOUT)
        coarse = tf.adaptive_avg_pool2d(pixels, _COARSE)
        parts = [x.amax((2, 3)), layout.flatten(1), coarse.flatten(1), _spread(pixels), *statistics]
        out: Tensor = self.project(torch.cat(parts, 1))
        return out


def _spread(x: Tensor) -> Tensor:
    """Standard deviation over the positions of each channel, ``(batch, channels)``."""
    return (x.var((2, 3), unbiased=False) + _LEAST_VARIANCE).sqrt()


def load_bundled() -> BundledNet:
    """Return the network with its shipped weights, in eval mode and float32.

    Raises:
        FileNotFoundError: The package was installed without its weights.
    """
    net = BundledNet()
    weights = load_file(BUNDLED_WEIGHTS)
    net.load_state_dict({name: value.float() for name, value in weights.items()})
    return net.eval()
