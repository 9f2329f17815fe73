"""A MobileNetV2 for photographs, computed by NumPy alone: its features before the classifier.

Source: Sandler et al. 2018, "MobileNetV2: Inverted Residuals and Linear Bottlenecks". The 8-bit weights are by
Google, trained on ImageNet (LICENCE-MOBILENET.txt, Apache 2.0). Batch normalisation is folded into the weights. For
each convolution ``cN`` the file contains ``cN.w``, uint8 ``(outputs, inputs, side, side)``, and ``cN.b``, float32
``(outputs,)``. The weights are ``(w - cN.z) * cN.s``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from pcevolve.errors import ModelError
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.encoders.singly import embed_each, to_array
from pcevolve.public.media.images.decoding import DecodedImage

WEIGHTS: Final = Path(__file__).with_name("mobilenet.safetensors")
SIDE: Final = 128
"""Number of pixels per side of an input. The network was trained on 224 pixels, which take three times as long."""
FEATURES: Final = 1280
BLOCKS: Final = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""Expansion, channels, number of consecutive blocks, and stride of the first block."""

Array = NDArray[np.float32]
State = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class MobileNet:
    """An ``Encoder`` around the MobileNet. ``frame`` has the same meaning as in ``BundledEncoder``."""

    name: str
    state: State = field(repr=False)
    frame: PublicFrame | None = None
    dimension: int = FEATURES

    def embed(self, images: Sequence[DecodedImage | None]) -> NDArray[np.float64]:
        """Return float64 ``(images, 1280)``. A row is NaN if the image or its embedding is unusable."""
        return embed_each(images, to_array(SIDE), lambda pixels: embed(self.state, pixels), self.dimension)


def load_state(path: Path = WEIGHTS) -> State:
    """Read the weights (``ModelError`` if they are missing or do not fit)."""
    try:
        stored = load_file(path)
        names = sorted({each.rpartition(".")[0] for each in stored})
        state = {}
        for name in names:
            whole = (stored[f"{name}.w"].astype(np.float32) - stored[f"{name}.z"]) * stored[f"{name}.s"]
            state[f"{name}.weight"], state[f"{name}.bias"] = whole, stored[f"{name}.b"]
    except (OSError, KeyError):
        raise ModelError("encoder mobilenet: its weights are not installed: reinstall the client") from None
    return state


def embed(state: State, image: Array) -> Array:
    """Embed one image, float32 ``(3, side, side)`` in 0..1. The result is float32 ``(1280,)``."""
    x, inputs, number = _spread_out(state, "c0", 2 * image - 1, stride=2), 32, 1
    for expansion, outputs, count, first in BLOCKS:
        for place in range(count):
            stride, y = first if place == 0 else 1, x
            if expansion > 1:
                y = _clip(_mix(state, f"c{number}", y))
                number += 1
            y = _filter(state, f"c{number}", y, stride)
            y = _mix(state, f"c{number + 1}", y)
            x = x + y if stride == 1 and inputs == outputs else y
            inputs, number = outputs, number + 2
    return np.asarray(_clip(_mix(state, f"c{number}", x)).mean(axis=(1, 2)))


def _clip(x: Array) -> Array:
    return np.clip(x, 0, 6, out=x)


def _mix(state: State, name: str, x: Array) -> Array:
    """Apply a 1x1 convolution to ``(channels, rows, columns)``."""
    weight = state[f"{name}.weight"]
    mixed = weight.reshape(len(weight), -1) @ x.reshape(len(x), -1)
    mixed += state[f"{name}.bias"][:, None]
    return mixed.reshape(len(weight), *x.shape[1:])


def _filter(state: State, name: str, x: Array, stride: int) -> Array:
    """Convolve each channel separately, 3 by 3, and clip."""
    weight, padded, made = state[f"{name}.weight"], *_pad(x, stride)
    found = np.empty((len(x), made, made), dtype=np.float32)
    found[:] = state[f"{name}.bias"][:, None, None]
    product = np.empty_like(found)
    span = (made - 1) * stride + 1
    for down in range(3):
        for across in range(3):
            seen = padded[:, down : down + span : stride, across : across + span : stride]
            found += np.multiply(seen, weight[:, 0, down, across][:, None, None], out=product)
    return _clip(found)


def _spread_out(state: State, name: str, x: Array, stride: int) -> Array:
    """Convolve all channels, 3 by 3, and clip."""
    weight, padded, made = state[f"{name}.weight"], *_pad(x, stride)
    span = (made - 1) * stride + 1
    columns = np.stack(
        [
            padded[:, down : down + span : stride, across : across + span : stride]
            for down in range(3)
            for across in range(3)
        ],
        axis=1,
    )
    mixed = weight.reshape(len(weight), -1) @ columns.reshape(-1, made * made)
    mixed += state[f"{name}.bias"][:, None]
    return _clip(mixed.reshape(len(weight), made, made))


def _pad(x: Array, stride: int) -> tuple[Array, int]:
    """Pad an image with zeros on all sides. An odd row is added below, and an odd column on the right.

    Returns:
        The padded image, and the side of the output.
    """
    side = x.shape[1]
    made = -(-side // stride)
    due = max((made - 1) * stride + 3 - side, 0)
    before = due // 2
    padded = np.zeros((len(x), side + due, side + due), dtype=np.float32)
    padded[:, before : before + side, before : before + side] = x
    return padded, made
