"""Run a frozen torch network on one image at a time; see ``threads.embed_each`` for why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pcevolve.encoders.frames import PublicFrame
from pcevolve.encoders.threads import embed_each
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
