"""The encoder that ships with the client: a small residual network over 64x64 RGB images, computed by NumPy alone.

``client/training/train_encoder.py`` trained it on public photographs under permissive licences and on rendered
images. It represents content, texture and low-level appearance (colour, tone, polarity, stroke). It reads only its
own weights and opens no socket. A deep-learning framework would be a thousand times its size.
``client/training/network.py`` contains the same network for torch, and a test compares both.

``WithSpectrum`` adds the distribution of an image's power over spatial frequencies. Both parts form one vector. A
release therefore clips both at once, pays for both at once and adds noise to both, and every proof about embeddings
holds unchanged. A part's share of a release's budget is its share of the variance of this vector. ``WEIGHT`` fixes
this share, so it is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from pcevolve.errors import ModelError
from pcevolve.public.encoders import BUNDLED, BUNDLED_FRAMES, BUNDLED_WEIGHTS, Encoder, frame_digest
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.encoders.singly import embed_each, pixel_array, to_array
from pcevolve.public.media.images.decoding import DecodedImage

SIDE = 64  # pixels
EDGES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33)
"""Edges of the frequency bands, in cycles per image."""
WEIGHT = 1.6
"""Factor by which logarithms of power are multiplied. On public images, the spectrum has a quarter of the variance."""
FLOOR = 5e-3
"""Power that rounding to 8 bits adds to every band. Smaller powers cannot be told apart."""


@dataclass(frozen=True, eq=False)
class WithSpectrum:
    """An ``Encoder`` that appends the spectrum to the embeddings of another encoder.

    Attributes:
        inner: The other encoder.
        frame: The public frame of both parts together, if known.
    """

    name: str
    inner: Encoder
    frame: PublicFrame | None

    @property
    def dimension(self) -> int:
        """The inner encoder's dimension plus the number of bands."""
        return self.inner.dimension + len(EDGES) - 1

    def embed(self, images: Sequence[DecodedImage | None]) -> NDArray[np.float64]:
        """Return float64 ``(images, dimension)``. Rows of unusable images are NaN."""
        spectra = np.array([measure_spectrum(image) for image in images]).reshape(len(images), len(EDGES) - 1)
        rows = np.concatenate([self.inner.embed(images), WEIGHT * spectra], axis=1)
        rows[~np.isfinite(rows).all(axis=1)] = np.nan
        return rows


def measure_spectrum(image: DecodedImage | None) -> NDArray[np.float64]:
    """Return the log mean power of an image's luminance in each band, float64 ``(13,)``, or NaN without pixels."""
    luminance = pixel_array([image], SIDE)[0].mean(axis=0, dtype=np.float64)
    power = np.square(np.abs(np.fft.fft2(luminance - luminance.mean())))
    return np.log(_sums(power) / _sums(np.ones_like(power)) + FLOOR)


def _sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum values over the frequencies of each band."""
    cycles = np.rint(np.fft.fftfreq(SIDE) * SIDE).astype(np.int64)
    squared = np.square(cycles)[:, None] + np.square(cycles)
    edges = np.square(EDGES)
    edges[-1] -= 1  # the last edge of a histogram belongs to its bin
    return np.histogram(squared, bins=edges, weights=values)[0]


Array = NDArray[np.float32]
State = Mapping[str, Array]
EMBEDDING_SIZE: Final = 256
WIDTHS: Final = (24, 48, 96, 160)
"""Channels of the stem and of each stage."""
GROUPS: Final = 8
SMALL: Final = 512
"""Largest side, in pixels, of images that are embedded by one thread.

Up to this size most of the work is the network. Python computes the network in one thread at a time, and two threads
take a fifth longer than one. For larger images most of the work is shrinking, which several threads do in parallel.
"""
COARSE: Final = 8
"""Number of cells per side of the small copy of the image that keeps tone and polarity."""
LAYOUT: Final = 2
"""Number of cells per side in the pooled output of the last stage."""
LEAST_VARIANCE: Final = 1e-4
"""Added to a variance before the square root, because the root's slope at 0 is infinite."""
_NORM_EPSILON: Final = 1e-5


@dataclass(frozen=True, eq=False)
class BundledEncoder:
    """An ``Encoder`` with the bundled architecture. ``frame`` is None if none is known for its weights."""

    name: str
    state: State = field(repr=False)
    frame: PublicFrame | None = None
    dimension: int = EMBEDDING_SIZE

    def embed(self, images: Sequence[DecodedImage | None]) -> NDArray[np.float64]:
        """Return float64 ``(images, 256)``. A row is NaN if the image or its embedding is unusable."""
        decoded = isinstance(images, list)  # other sequences read a file when they are asked for an image
        small = decoded and all(image is None or max(image.size) <= SMALL for image in images)
        threads = 0 if small else None
        return embed_each(
            images, to_array(SIDE), lambda pixels: embed(self.state, pixels), self.dimension, threads
        )


def load_bundled(name: str, weights: str | None) -> Encoder:
    """Load the encoder that ships with the client. The name decides whether the power spectrum is included.

    Raises:
        ModelError: The weights are missing or do not fit.
    """
    state = _load_shipped() if weights is None else _load_given(Path(weights).expanduser())
    inner = BundledEncoder(BUNDLED, state, _frame(BUNDLED, weights, EMBEDDING_SIZE))
    if name == BUNDLED:
        return inner
    widened = WithSpectrum(name, inner, None)
    return replace(widened, frame=_frame(name, weights, widened.dimension))


def _load_shipped() -> State:
    try:
        return require_fit(load_file(BUNDLED_WEIGHTS), BUNDLED_WEIGHTS.name)
    except OSError:
        raise ModelError("encoder bundled: its weights are not installed: reinstall the client") from None


def _load_given(path: Path) -> State:
    from pcevolve.public.encoders.files import read_arrays

    return require_fit(read_arrays(path), str(path))


def _frame(name: str, weights: str | None, dimension: int) -> PublicFrame | None:
    """Return the frame that belongs to the weights, or None if they have none."""
    return PublicFrame.read(BUNDLED_FRAMES[name], dimension) if frame_digest(name, weights) else None


def embed(state: State, image: Array) -> Array:
    """Embed one image.

    Args:
        image: float32 ``(3, 64, 64)`` in 0..1.

    Returns:
        float32 ``(256,)``. Embeddings are compared by Euclidean distance.
    """
    pixels = image * 2 - 1
    with np.errstate(over="ignore"):  # an exponential that overflows makes a silu of nothing
        x = _silu(_convolve(state, "stem", pixels, stride=2))
        statistics: list[Array] = []
        for number in range(len(WIDTHS) - 1):
            x = _residual(state, f"stages.{number}", x)
            # The mean and standard deviation of a stage describe its texture, independent of position.
            statistics += _describe(x)
    parts = [x.max(axis=(1, 2)), _pool(x, LAYOUT), _pool(pixels, COARSE), _describe(pixels)[1], *statistics]
    return np.asarray(state["project.weight"] @ np.concatenate(parts) + state["project.bias"])


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of all weights."""
    found: dict[str, tuple[int, ...]] = {}

    def convolution(name: str, inputs: int, outputs: int, side: int = 3) -> None:
        found[f"{name}.weight"], found[f"{name}.bias"] = (outputs, inputs, side, side), (outputs,)

    convolution("stem", 3, WIDTHS[0], side=5)
    for number, (inputs, outputs) in enumerate(pairwise(WIDTHS)):
        stage = f"stages.{number}"
        convolution(f"{stage}.down", inputs, outputs)
        for name in ("first", "second"):
            convolution(f"{stage}.{name}", outputs, outputs)
        for place in range(3):
            found[f"{stage}.norms.{place}.weight"] = found[f"{stage}.norms.{place}.bias"] = (outputs,)
    features = 2 * sum(WIDTHS[1:]) + WIDTHS[-1] * (1 + LAYOUT**2) + 3 * (1 + COARSE**2)
    found["project.weight"], found["project.bias"] = (EMBEDDING_SIZE, features), (EMBEDDING_SIZE,)
    return found


def require_fit(state: Mapping[str, NDArray[np.generic]], source: str) -> State:
    """Check that weights have exactly the network's names and shapes, and return them as float32.

    Raises:
        ModelError: Names or shapes differ. The message counts the differences and names one.
    """
    wanted = shapes()
    wrong = sorted(
        name
        for name in state.keys() | wanted.keys()
        if name not in wanted or name not in state or state[name].shape != wanted[name]
    )
    if wrong:
        raise ModelError(f"encoder weights {source}: {len(wrong)} tensors do not fit, such as {wrong[0]!r}")
    return {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in state.items()}


def _residual(state: State, name: str, x: Array) -> Array:
    """Halve the resolution, then add one residual pair of convolutions."""
    x = _silu(_normalise(state, f"{name}.norms.0", _convolve(state, f"{name}.down", x, stride=2)))
    y = _silu(_normalise(state, f"{name}.norms.1", _convolve(state, f"{name}.first", x)))
    return _silu(x + _normalise(state, f"{name}.norms.2", _convolve(state, f"{name}.second", y)))


def _convolve(state: State, name: str, x: Array, stride: int = 1) -> Array:
    """Convolve ``(channels, side, side)``, padded so that a stride of 1 keeps the side."""
    weight = state[f"{name}.weight"]
    outputs, inputs, side, _ = weight.shape
    rim, width = side // 2, x.shape[2]
    padded = np.zeros((inputs, width + 2 * rim, width + 2 * rim), dtype=np.float32)
    padded[:, rim : rim + width, rim : rim + width] = x
    made = -(-width // stride)
    # A view in which each window stands by itself, so that ``reshape`` copies all of them at once.
    channel, row, pixel = padded.strides
    strides = (channel, row, pixel, row * stride, pixel * stride)
    windows = np.ndarray((inputs, side, side, made, made), padded.dtype, padded, strides=strides)
    found = weight.reshape(outputs, -1) @ windows.reshape(weight[0].size, -1)
    found += state[f"{name}.bias"][:, None]
    return np.asarray(found.reshape(outputs, made, made))


def _normalise(state: State, name: str, x: Array) -> Array:
    """Normalise groups of channels, in place."""
    grouped = x.reshape(GROUPS, -1)
    grouped -= grouped.mean(axis=1, keepdims=True)
    variances = np.square(grouped).mean(axis=1, keepdims=True)
    variances += np.float32(_NORM_EPSILON)
    grouped /= np.sqrt(variances)
    x *= state[f"{name}.weight"][:, None, None]
    x += state[f"{name}.bias"][:, None, None]
    return x


def _silu(x: Array) -> Array:
    divisor = np.negative(x)
    np.exp(divisor, out=divisor)
    divisor += 1
    return np.divide(x, divisor, out=divisor)


def _pool(x: Array, cells: int) -> Array:
    """Average square cells, ``(channels * cells * cells,)``."""
    channels, side, _ = x.shape
    means = x.reshape(channels, cells, side // cells, cells, side // cells).mean(axis=(2, 4))
    return np.asarray(means.ravel())


def _describe(x: Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation over positions of each channel, each ``(channels,)``."""
    rows = x.reshape(len(x), -1)
    means = rows.mean(axis=1)
    variances = np.square(rows - means[:, None]).mean(axis=1)
    return means, np.sqrt(variances + np.float32(LEAST_VARIANCE))
