"""Encoders that torch computes: architecture, weights by path or from a library, preprocessing.

Images go through one at a time; see ``threads.embed_each`` for why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pcevolve.encoders import TRANSFORMER, VISION, Encoder
from pcevolve.encoders.frames import PublicFrame
from pcevolve.encoders.threads import embed_each
from pcevolve.errors import UsageError
from pcevolve.modality.images.decoding import DecodedImage


@dataclass(frozen=True, eq=False)
class FrozenEncoder:
    """An ``Encoder`` around a torch network in eval mode.

    Attributes:
        name: The name it was loaded by.
        dimension: Length of one embedding.
        network: Float32 ``(1, 3, height, width)`` to ``(1, dimension)``.
        preprocess: Square RGB image to float32 ``(3, height, width)``, without statistics of a set.
        device: Where ``network`` lies.
        frame: What its embeddings of public images look like, where that is known.
    """

    name: str
    dimension: int
    network: nn.Module = field(repr=False)
    preprocess: Callable[[DecodedImage], Any] = field(repr=False)
    device: torch.device
    frame: PublicFrame | None = None

    def embed(self, images: Sequence[DecodedImage | None]) -> NDArray[np.float64]:
        """Return float64 ``(images, dimension)``; NaN rows where an image or its embedding is unusable."""
        threads = None if self.device.type == "cpu" else 1
        return embed_each(images, self.preprocess, self._forward, self.dimension, threads)

    def _forward(self, pixels: Tensor | NDArray[np.float32]) -> NDArray[np.float32]:
        with (
            torch.inference_mode(),
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False),
        ):
            embedding: Tensor = self.network(torch.as_tensor(pixels)[None].to(self.device))
        return embedding[0].float().cpu().numpy()


Parts = tuple[nn.Module, Callable[[Any], Tensor], int]


def load(name: str, weights: str | None, device: str) -> Encoder:
    """Load an encoder that torch computes; see ``load_encoder`` for the arguments and errors."""
    place = _device(device)
    if name.startswith(TRANSFORMER):
        from pcevolve.encoders.transformer import load_transformer

        return load_transformer(name, weights, place)
    path = None if weights is None else Path(weights).expanduser()
    if name in VISION:
        # Torchvision takes as long to import as torch itself.
        from pcevolve.encoders.vision import load_vision

        network, preprocess, dimension = load_vision(name, path)
    else:
        from pcevolve.encoders.clip import load_clip

        network, preprocess, dimension = load_clip(name, path)
    network.eval().requires_grad_(requires_grad=False)
    return FrozenEncoder(name, dimension, network.float().to(place), preprocess, place)


def find_gpu() -> str:
    """The name of the GPU that ``auto`` takes; empty if there is none."""
    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else ""


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"no device {name!r}: use cpu, cuda or auto") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("device cuda asked for and none found: use cpu or auto")
    return device
