"""Turn pixels into vectors whose distance measures similarity, and find the nearest vectors."""

from __future__ import annotations

from typing import Any, Final, Protocol

import faiss
import numpy as np
from numpy.typing import NDArray
from PIL import Image

Codes = NDArray[np.uint8]
Plane = NDArray[np.floating]

_SIDE: Final = 64  # pixels
_CELLS: Final = 4  # across and down
_ANGLES: Final = 8
_BANDS: Final = 10  # rings of the spectrum, half an octave each
_LEVELS: Final = 8  # of a histogram
_PATTERNS: Final = 10  # rotation-invariant uniform local binary patterns of eight neighbours
_LUMA: Final = np.array([0.299, 0.587, 0.114], np.float32)


class Embedder(Protocol):
    """Gives each image a vector of bytes. Similar images are near in Euclidean distance."""

    @property
    def name(self) -> str:
        """Name with version. Vectors with different names cannot be compared."""
        ...

    @property
    def size(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, image: Image.Image) -> Codes:
        """Return uint8 ``(size,)``, which depends on the image's centre square alone."""
        ...


class AppearanceEmbedder:
    """A hand-made descriptor of colour, layout, outlines and texture, without weights.

    It takes a few milliseconds for an image.

    The descriptor has six parts: mean and spread of the opponent colours in 4 x 4 cells, histograms of gradients in
    the same cells (Dalal and Triggs 2005), colour histograms, rotation-invariant local binary patterns at two
    scales (Ojala et al. 2002), and the power in rings of the spectrum. Each part is divided by its spread over a
    broad collection (``_SPREAD``), so that all parts have the same weight. The binary patterns have twice this
    weight, with which the nearest neighbours most often had the same label.
    """

    name = "appearance-1"
    size = 2 * 3 * _CELLS**2 + _ANGLES * _CELLS**2 + 3 * _LEVELS + 2 * _PATTERNS + _BANDS

    def embed(self, image: Image.Image) -> Codes:
        """Return the descriptor, uint8 ``(278,)``."""
        pixels = _centre(image)
        red, green, blue = np.moveaxis(pixels, 2, 0)
        opponent = np.stack([pixels @ _LUMA, red - green, (red + green) / 2 - blue], axis=2)
        luma = opponent[:, :, 0]
        parts = {
            "mean": _cells(opponent).mean((1, 3)),
            "spread": _cells(opponent).std((1, 3)),
            "outlines": _outlines(luma),
            "colours": _histograms(opponent),
            "patterns": np.concatenate([_patterns(luma, step) for step in (1, 3)]),
            "spectrum": _spectrum(luma),
        }
        vector = np.concatenate([_scale(name, part.ravel()) for name, part in parts.items()])
        codes: Codes = np.clip(np.rint(vector), 0, 255).astype(np.uint8)
        return codes


_SPREAD: Final = {
    "mean": 1.1, "spread": 0.42, "outlines": 1.1, "colours": 1.06, "patterns": 0.195, "spectrum": 2.4,
}  # fmt: skip
_LEAST: Final = {"mean": -0.8, "spectrum": -2.0}
_STEPS: Final = 48  # levels of a byte in one spread


def _scale(name: str, part: Plane) -> Plane:
    scaled: Plane = (part - _LEAST.get(name, 0.0)) * (_STEPS / _SPREAD[name])
    return scaled


def _centre(image: Image.Image) -> Plane:
    """Return the centre square, float32 ``(64, 64, 3)`` in 0..1."""
    side = min(image.size)
    left, top = (image.width - side) / 2, (image.height - side) / 2
    resample = Image.Resampling.BOX if side > _SIDE else Image.Resampling.BILINEAR
    box = (left, top, left + side, top + side)
    return np.asarray(image.resize((_SIDE, _SIDE), resample, box=box), np.float32) / 255


def _cells(planes: Plane) -> Plane:
    """Return the planes as ``(4, 16, 4, 16, planes)``. The mean over axes 1 and 3 is a value for each cell."""
    cell = _SIDE // _CELLS
    return planes.reshape(_CELLS, cell, _CELLS, cell, -1)


def _outlines(luma: Plane) -> Plane:
    """Return the square root of each cell's distribution over directions of the gradient."""
    down, across = np.gradient(luma)
    angle = np.mod(np.arctan2(down, across), np.pi) * (_ANGLES / np.pi)
    strength = np.hypot(down, across)
    low = np.floor(angle).astype(np.intp)
    cell = np.arange(_SIDE) // (_SIDE // _CELLS)
    place = (cell[:, None] * _CELLS + cell) * _ANGLES
    sums = np.zeros(_CELLS**2 * _ANGLES)
    for shift, share in ((0, 1 - (angle - low)), (1, angle - low)):
        bins = place + (low + shift) % _ANGLES
        sums += np.bincount(bins.ravel(), (strength * share).ravel(), sums.size)
    sums = sums.reshape(-1, _ANGLES) / (_SIDE // _CELLS) ** 2
    # The constant keeps the noise of a plain cell from appearing as a direction.
    shares: Plane = np.sqrt(sums / (sums.sum(1, keepdims=True) + 0.02))
    return shares


def _histograms(opponent: Plane) -> Plane:
    """Return the square root of the distribution of each opponent colour over 8 levels."""
    levels = np.clip(opponent * [8, 12, 12] + [0, 4, 4], 0, _LEVELS - 1e-3).astype(np.intp)
    bins = (levels + np.arange(3) * _LEVELS).ravel()
    shares: Plane = np.sqrt(np.bincount(bins, minlength=3 * _LEVELS) / _SIDE**2)
    return shares


_RING: Final = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))


def _patterns(luma: Plane, step: int) -> Plane:
    """Return the square root of the distribution of local binary patterns ``step`` pixels wide."""
    end = _SIDE - step
    middle = luma[step:end, step:end] + 0.01  # brighter by more than noise
    ring = np.stack(
        [luma[step + y * step : end + y * step, step + x * step : end + x * step] for y, x in _RING]
    )
    brighter = ring > middle
    changes = (brighter != np.roll(brighter, 1, axis=0)).sum(0)
    pattern = np.where(
        changes <= 2, brighter.sum(0), _PATTERNS - 1
    )  # Ojala's "uniform" ones apart, the rest together
    shares: Plane = np.sqrt(np.bincount(pattern.ravel(), minlength=_PATTERNS) / pattern.size)
    return shares


_WINDOW: Final = np.outer(np.hanning(_SIDE), np.hanning(_SIDE)).astype(np.float32)
_RADIUS: Final = np.hypot(np.fft.fftfreq(_SIDE, 1 / _SIDE)[:, None], np.fft.rfftfreq(_SIDE, 1 / _SIDE))
_RING_OF: Final = np.clip(np.floor(2 * np.log2(np.maximum(_RADIUS, 0.5))).astype(np.intp) + 1, 0, _BANDS + 1)
_RING_SIZES: Final = np.bincount(_RING_OF.ravel(), minlength=_BANDS + 2)


def _spectrum(luma: Plane) -> Plane:
    """Return the logarithm of the mean power in each ring of half an octave, from 1 to 32 cycles an image."""
    power = np.abs(np.fft.rfft2((luma - luma.mean()) * _WINDOW)) ** 2
    sums = np.bincount(_RING_OF.ravel(), power.ravel(), _BANDS + 2)
    means: Plane = np.log10(0.01 + sums / np.maximum(_RING_SIZES, 1))[1 : _BANDS + 1]
    return means


_STEP = 2**14  # vectors that are added at once: FAISS takes floats


class NeighbourIndex:
    """A flat index. It has one byte for each number of a vector, needs no training, and finds exact neighbours.

    It is flat, because a variation needs hundreds or thousands of ranks among the images that fit a prompt. Graphs and
    inverted lists are faster only for a few ranks among all images.
    """

    def __init__(self, codes: Codes) -> None:
        """Copy the vectors, uint8 ``(images, size)``."""
        self._index = faiss.IndexScalarQuantizer(codes.shape[1], faiss.ScalarQuantizer.QT_8bit_direct)
        for start in range(0, len(codes), _STEP):
            self._index.add(codes[start : start + _STEP].astype(np.float32))

    def nearest(self, code: Codes, count: int, among: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return the indexes of the nearest images, nearest first. Images at the same distance are in order of index.

        Args:
            code: uint8 ``(size,)``.
            count: Largest number of results.
            among: Images that may be returned. None: all images.
        """
        query = code.astype(np.float32)[None]
        distances, places = self._index.search(query, count, params=None if among is None else _only(among))
        found = places[0] >= 0  # fewer than asked for
        order = np.lexsort((places[0][found], distances[0][found]))
        nearest: NDArray[np.int64] = places[0][found][order]
        return nearest


def _only(among: NDArray[np.bool_]) -> Any:  # noqa: ANN401 - FAISS declares its C++ side alone
    library: Any = faiss
    return library.SearchParameters(sel=library.IDSelectorBitmap(np.packbits(among, bitorder="little")))
