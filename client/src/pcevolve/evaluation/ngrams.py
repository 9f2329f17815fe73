"""A judge of texts that never votes: hashed words and pairs of words, as a bag."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pcevolve.modality.texts.reading import Text

FEATURES = 2**12


def hashed_ngrams(texts: Sequence[Text | None]) -> NDArray[np.float32]:
    """Words and pairs of words of each text, hashed with signs (Weinberger et al. 2009), of length 1.

    Returns:
        float32 ``(texts, FEATURES)``; NaN where there is no word.
    """
    from sklearn.feature_extraction.text import HashingVectorizer  # takes seconds to import

    hashing = HashingVectorizer(n_features=FEATURES, ngram_range=(1, 2), dtype=np.float32)
    rows: NDArray[np.float32] = hashing.transform([text or "" for text in texts]).toarray()
    rows[~rows.any(axis=1)] = np.nan
    return rows
