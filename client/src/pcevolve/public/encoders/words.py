"""The encoder of texts that ships with the client: weighted sums of word vectors.

``client/training/train_words.py`` made the vectors by latent semantic analysis (Deerwester et al. 1990) of public
texts. An unknown word gets a vector by hashing (Weinberger et al. 2009), so that two texts with the same rare name are
close to each other. A text's embedding has length 1 and depends on this text alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from pcevolve.errors import ModelError
from pcevolve.public.encoders import WORD_VECTORS
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.media.texts import Text

_WORD: Final = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_RARE: Final = 0.5
"""Weight of a word without a vector, as a share of the weight of the rarest known word."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WordEncoder:
    """An ``Encoder`` of texts.

    Attributes:
        places: The row of each known word.
        vectors: float64 ``(words, dimension)``, each of length 1.
        weights: float64 ``(words,)``.
    """

    name: str
    places: Mapping[str, int] = field(repr=False)
    vectors: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    frame: PublicFrame | None = None

    @property
    def dimension(self) -> int:
        """Number of entries of one embedding."""
        return int(self.vectors.shape[1])

    def embed(self, texts: Sequence[Text | None]) -> FloatArray:
        """Return float64 ``(texts, dimension)``, exact in float32. The row of a text without words is NaN."""
        return np.array([self._one(each) for each in texts], dtype=np.float64).reshape(-1, self.dimension)

    def _one(self, text: Text | None) -> FloatArray:
        found = np.zeros(self.dimension)
        for word in _WORD.findall((text or "").lower()):
            place = self.places.get(word)
            found += self._unknown(word) if place is None else self.weights[place] * self.vectors[place]
        length = float(np.linalg.norm(found))
        found = found / length if length else np.full(self.dimension, np.nan)
        return found.astype(np.float32).astype(np.float64)

    def _unknown(self, word: str) -> FloatArray:
        """Return a vector of signs from the word's digest."""
        digest = hashlib.shake_256(word.encode()).digest(-(-self.dimension // 8))
        bits = np.unpackbits(np.frombuffer(digest, dtype=np.uint8))[: self.dimension]
        share = _RARE * float(self.weights.max()) / np.sqrt(self.dimension)
        signs: FloatArray = np.where(bits, share, -share)
        return signs


def load_words(name: str) -> WordEncoder:
    """Load the encoder with its shipped vectors (``ModelError`` if the installed package lacks them)."""
    try:
        with safe_open(WORD_VECTORS, "np") as opened:
            known: list[str] = opened.metadata()["words"].split(" ")
            vectors: FloatArray = opened.get_tensor("vectors").astype(np.float64)
            weights: FloatArray = opened.get_tensor("weights").astype(np.float64)
    except (OSError, KeyError, SafetensorError):
        raise ModelError(f"encoder {name}: its vectors are not installed: reinstall the client") from None
    return WordEncoder(name, {word: place for place, word in enumerate(known)}, vectors, weights)
