"""How well each image fits a prompt by words first, and where these leave something open by what CLIP sees in it.

Imports no model library: what reads the prompt is handed in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pcevolve_server.library.embedding import Codes
from pcevolve_server.library.words import Weights, WordIndex, weighed

Vector = NDArray[np.float32]
Reader = Callable[[str], Vector]
"""From a text to its embedding, float32 ``(size,)`` of length 1."""

_MIDDLE: Final = 128  # the code of 0
_STEPS: Final = 127  # codes on each side of it
_ALL_WORDS: Final = 4.0  # standard deviations of similarity that count as much as having every word
_DECIMALS: Final = (
    3  # of a similarity: the last bits, which depend on the number of threads, hardly ever decide
)
_BLOCK: Final = 2**14  # images at a time


def coded(vector: Vector) -> Codes:
    """Return a vector's direction in bytes, uint8 of the same shape; its length is lost."""
    largest = float(np.abs(vector).max()) or 1.0
    codes: Codes = (np.rint(vector * (_STEPS / largest)) + _MIDDLE).astype(np.uint8)
    return codes


def cosines(codes: Codes, vector: Vector) -> Weights:
    """Return the cosine of each row of ``codes``, uint8 ``(images, size)``, and a vector: float64 ``(images,)``."""
    found = np.empty(len(codes))
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK].astype(np.float32) - _MIDDLE
        lengths = np.linalg.norm(block, axis=1)
        found[start : start + _BLOCK] = block @ vector / np.maximum(lengths, 1)
    return found


@dataclass(frozen=True)
class Likeness:
    """Words and a text-image model together.

    Words choose which images fit, as they do alone. By the share of the prompt's words that no image has, an
    image's score is raised by its cosine to the whole prompt, in standard deviations of all that fit: cosines of
    different models and libraries have no common scale. The same is taken off for the negative prompt.

    Attributes:
        words: Of the images.
        codes: Their embeddings by the model, uint8 ``(images, size)``; see ``coded``.
        read: The model's embedding of a text.
    """

    words: WordIndex
    codes: Codes
    read: Reader

    def weights(self, prompt: str, negative_prompt: str = "", guidance: float = 7.5) -> Weights:
        """Return how likely each image is to be drawn for a prompt: float64 ``(images,)``, the largest 1."""
        fitting = self.words.fitting(prompt)
        seen = self._seen(prompt, fitting) - self._seen(negative_prompt, fitting)
        return weighed(self.words.scores(prompt, negative_prompt) + seen, fitting, guidance)

    def _seen(self, text: str, fitting: NDArray[np.bool_]) -> Weights:
        """What the model adds to each image's score; nothing where words leave nothing open."""
        left_open = self.words.left_open(text)
        if not left_open:
            return np.zeros(self.words.count)
        similar = cosines(self.codes, self.read(text))
        spread = similar[fitting].std()
        standard = (similar - similar[fitting].mean()) / spread if spread else np.zeros_like(similar)
        seen: Weights = (
            left_open / _ALL_WORDS * np.clip(standard, -2 * _ALL_WORDS, 2 * _ALL_WORDS).round(_DECIMALS)
        )
        return seen
