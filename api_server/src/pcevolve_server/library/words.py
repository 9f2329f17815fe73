"""The fit of each image to a prompt: by words in common, and optionally by CLIP.

The module imports no model library, because the model that reads the prompt is an argument.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pcevolve_server.library.captions import words
from pcevolve_server.library.embedding import Codes

Weights = NDArray[np.float64]


class WordIndex:
    """The images that have each word.

    Attributes:
        count: Number of images.
    """

    def __init__(self, texts: Iterable[frozenset[str]]) -> None:
        """Index the words of each image, in the images' order."""
        found: dict[str, array[int]] = {}
        self.count = 0
        for place, own in enumerate(texts):
            self.count += 1
            for word in own:
                found.setdefault(word, array("I")).append(place)
        self._places = {word: np.frombuffer(places, np.uint32) for word, places in found.items()}

    def weights(self, prompt: str, negative_prompt: str = "", guidance: float = 7.5) -> Weights:
        """Return each image's weight for a draw by a prompt.

        Each word has the weight of its inverse document frequency, so a word of all images has weight 0. An image's
        score is the weighted share of the prompt's known words that the image has, from 0 to 1. The same share for
        the negative prompt is subtracted. The image's weight is ``exp(guidance * score)``. Images without any word
        of the prompt have weight 0. Words that no image has are ignored. If no word is known, all scores are equal.

        Returns:
            float64 ``(images,)``; the largest is 1.
        """
        return weigh(*self.scores(prompt, negative_prompt), guidance)

    def scores(self, prompt: str, negative_prompt: str) -> tuple[Weights, NDArray[np.bool_]]:
        """Return each image's score, and which images fit.

        Returns:
            float64 ``(images,)``, from 0 to 1 without a negative prompt; and bool ``(images,)``, True for images with a
            word of the prompt. If the prompt's words do not distinguish images, all are True.
        """
        asked, refused = self._scores(prompt), self._scores(negative_prompt)
        scores = np.zeros(self.count) if asked is None else asked
        fitting = np.ones(self.count, np.bool_) if asked is None else asked > 0
        return (scores if refused is None else scores - refused), fitting

    def share_without_images(self, text: str) -> float:
        """Return the share of a text's words that no image has, from 0 to 1.

        Words that all images have do not count.
        """
        asked = [word for word in words(text) if len(self._places.get(word, ())) < self.count]
        return sum(word not in self._places for word in asked) / len(asked) if asked else 0.0

    def _scores(self, text: str) -> Weights | None:
        """Return the share of a text's known words that each image has. None: the words do not distinguish images."""
        scores, total = np.zeros(self.count), 0.0
        for word in sorted(words(text) & self._places.keys()):
            places = self._places[word]
            worth = float(np.log(self.count / len(places)))
            scores[places] += worth
            total += worth
        if not total:
            return None
        scores /= total
        return scores


def weigh(scores: Weights, fitting: NDArray[np.bool_], guidance: float) -> Weights:
    """Return ``exp(guidance * score)`` of the images that fit, divided by the largest. Other images get 0."""
    weights: Weights = np.exp(guidance * scores)
    weights[~fitting] = 0
    weights /= weights.max()
    return weights


def draw(weights: Sequence[float] | Weights, seed: int) -> int:
    """Draw an index in proportion to the weights.

    Consecutive seeds go through the weights in steps of the golden ratio. The images of one request are therefore
    spread over all images that fit, and repeat only if there are too few.

    Args:
        weights: Not negative, not all 0.
        seed: 32 bits.
    """
    heights = np.cumsum(weights)
    return int(np.searchsorted(heights, fraction(seed) * heights[-1], side="right"))


def fraction(seed: int) -> float:
    """Return a number in (0, 1). Consecutive 32-bit seeds give numbers far apart."""
    golden = 2654435769  # 2**32 divided by the golden ratio, odd: a permutation of all seeds
    return ((seed * golden) % 2**32 + 0.5) / 2**32


Fits = Callable[[str, str, float], Weights]
"""Returns the images' weights for prompt, negative prompt and guidance."""


Vector = NDArray[np.float32]
Reader = Callable[[str], Vector]
"""Returns a text's embedding, float32 ``(size,)`` of length 1."""

_MIDDLE: Final = 128  # the code of 0
_STEPS: Final = 127  # codes on each side of it
_ALL_WORDS: Final = 4.0  # standard deviations of similarity that count as much as having every word
_DECIMALS: Final = (
    3  # of a similarity: the last bits, which depend on the number of threads, hardly ever decide
)
_BLOCK: Final = 2**14  # images at a time


def quantize(vector: Vector) -> Codes:
    """Return a vector's direction in bytes, uint8 of the same shape. The vector's length is lost."""
    largest = float(np.abs(vector).max()) or 1.0
    codes: Codes = (np.rint(vector * (_STEPS / largest)) + _MIDDLE).astype(np.uint8)
    return codes


def cosines(codes: Codes, vector: Vector) -> Weights:
    """Return the cosine of each row of ``codes``, uint8 ``(images, size)``, to a vector, float64 ``(images,)``."""
    found = np.empty(len(codes))
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK].astype(np.float32) - _MIDDLE
        lengths = np.linalg.norm(block, axis=1)
        found[start : start + _BLOCK] = block @ vector / np.maximum(lengths, 1)
    return found


@dataclass(frozen=True)
class Likeness:
    """Weighs images by words together with a text-image model.

    Words decide which images fit, as without a model. An image's score is then raised by its cosine to the whole
    prompt, times the share of the prompt's words that no image has. The cosine is in standard deviations over all
    images that fit, because models and libraries have no common scale. The negative prompt lowers the score in the
    same way.

    Attributes:
        words: The images' words.
        codes: The images' embeddings, uint8 ``(images, size)``; see ``quantize``.
        read: Returns the model's embedding of a text.
    """

    words: WordIndex
    codes: Codes
    read: Reader

    def weights(self, prompt: str, negative_prompt: str = "", guidance: float = 7.5) -> Weights:
        """Return each image's weight for a draw by a prompt: float64 ``(images,)``, the largest 1."""
        scores, fitting = self.words.scores(prompt, negative_prompt)
        seen = self._score(prompt, fitting) - self._score(negative_prompt, fitting)
        return weigh(scores + seen, fitting, guidance)

    def _score(self, text: str, fitting: NDArray[np.bool_]) -> Weights:
        """Return the model's part of each image's score. It is 0 if all words of the text are known."""
        left_open = self.words.share_without_images(text)
        if not left_open:
            return np.zeros(self.words.count)
        similar = cosines(self.codes, self.read(text))
        spread = similar[fitting].std()
        standard = (similar - similar[fitting].mean()) / spread if spread else np.zeros_like(similar)
        seen: Weights = (
            left_open / _ALL_WORDS * np.clip(standard, -2 * _ALL_WORDS, 2 * _ALL_WORDS).round(_DECIMALS)
        )
        return seen
