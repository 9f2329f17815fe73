"""The encoder that ships with the client: a small residual network over 64x64 RGB images.

It was trained by ``client/training/train_encoder.py`` on rendered public images only, to know both
content (glyph, material, defect, item) and low-level appearance (polarity, tone, stroke, colour).
It never reads files other than its own weights and never opens a socket.
"""

from __future__ import annotations

import itertools

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as tf

from pcevolve.encoders import BUNDLED_WEIGHTS

EMBEDDING_SIZE = 128
_WIDTHS = (24, 48, 96, 160)


class _Residual(nn.Module):
    """Halve the resolution, then add one residual pair of convolutions."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1)
        self.first = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(8, outputs) for _ in range(3))

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
        # The last stage keeps its 4x4 layout; a coarse copy of the image keeps tone and polarity.
        self.project = nn.Linear(_WIDTHS[-1] * 5 + 3 * 64, EMBEDDING_SIZE)

    def forward(self, images: Tensor) -> Tensor:
        """Embed a batch.

        Args:
            images: float32 ``(batch, 3, 64, 64)`` in 0..1.

        Returns:
            float32 ``(batch, 128)``; compare by Euclidean distance.
        """
        x = tf.silu(self.stem(images * 2 - 1))
        for stage in self.stages:
            x = stage(x)
        coarse = tf.adaptive_avg_pool2d(images * 2 - 1, 8)
        layout = tf.adaptive_avg_pool2d(x, 2)
        parts = (x.amax((2, 3)), layout.flatten(1), coarse.flatten(1))
        out: Tensor = self.project(torch.cat(parts, 1))
        return out


def load_bundled() -> BundledNet:
    """Return the network with its shipped weights, in eval mode and float32.

    Raises:
        FileNotFoundError: The package was installed without its weights.
    """
    net = BundledNet()
    weights = load_file(BUNDLED_WEIGHTS)
    net.load_state_dict({name: value.float() for name, value in weights.items()})
    return net.eval()
