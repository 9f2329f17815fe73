"""Run a frozen network so that one image's embedding cannot depend on another image.

Kernels may round differently for another batch size, and on some devices for another position in
the batch. So every forward pass has one fixed shape, and that shape is a batch of **one**: the
result is then a function of the image alone by construction, with no padding to rely on. On CPU
this costs large networks nothing and small ones under a millisecond per image.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pcevolve.encoders.frames import PublicFrame
from pcevolve.encoders.pixels import centre_square
from pcevolve.encoders.threads import lone_workers
from pcevolve.modality.images.decoding import DECODE_ERRORS, DecodedImage


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
    preprocess: Callable[[DecodedImage], Tensor] = field(repr=False)
    device: torch.device
    frame: PublicFrame | None = None

    def embed(self, images: Sequence[DecodedImage | None]) -> NDArray[np.float64]:
        """Return float64 ``(images, dimension)``; NaN rows where an image or its embedding is unusable.

        On a processor several images are embedded at a time, each by one thread that computes alone. Dividing the
        operations of one image among threads takes longer for small networks, and rounds by their number.
        """
        rows = np.full((len(images), self.dimension), np.nan)

        def fill(place: int) -> None:
            image = images[place]
            pixels = None if image is None else self._pixels(image)
            if pixels is not None:
                rows[place] = self._forward(pixels)

        if self.device.type == "cpu":
            with lone_workers(torch.get_num_threads()) as pool:
                deque(pool.map(fill, range(len(images))), maxlen=0)  # raises what a thread raised
        else:
            deque(map(fill, range(len(images))), maxlen=0)
        rows[~np.isfinite(rows).all(axis=1)] = np.nan
        return rows

    def _pixels(self, image: DecodedImage) -> Tensor | None:
        try:
            return self.preprocess(centre_square(image))
        except DECODE_ERRORS:  # candidates are adversarial input, and Pillow decodes lazily
            return None

    def _forward(self, pixels: Tensor) -> NDArray[np.float32]:
        with (
            torch.inference_mode(),
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False),
        ):
            embedding: Tensor = self.network(pixels[None].to(self.device))
        return embedding[0].float().cpu().numpy()
