"""Exact nearest neighbours among byte vectors, all of them or some, by FAISS."""

from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from pcevolve_server.library.embedding import Codes

_STEP = 2**14  # vectors that are added at once: FAISS takes floats


class Neighbours:
    """A flat index: one byte a number, no training, nothing approximated.

    Flat, because a variation asks for hundreds or thousands of ranks among those images that fit a prompt, and graphs
    and inverted lists are fast where a few ranks among all are wanted.
    """

    def __init__(self, codes: Codes) -> None:
        """Copy the vectors, uint8 ``(images, size)``."""
        self._index = faiss.IndexScalarQuantizer(codes.shape[1], faiss.ScalarQuantizer.QT_8bit_direct)
        for start in range(0, len(codes), _STEP):
            self._index.add(codes[start : start + _STEP].astype(np.float32))

    def nearest(self, code: Codes, count: int, among: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return the places of the nearest images, nearest first, equally near ones by place.

        Args:
            code: uint8 ``(size,)``.
            count: At most so many.
            among: Which images may be returned; None for all of them.
        """
        query = code.astype(np.float32)[None]
        distances, places = self._index.search(query, count, params=None if among is None else _only(among))
        found = places[0] >= 0  # fewer than asked for
        order = np.lexsort((places[0][found], distances[0][found]))
        nearest: NDArray[np.int64] = places[0][found][order]
        return nearest


def _only(among: NDArray[np.bool_]) -> Any:  # noqa: ANN401 - FAISS declares its C++ side alone
    """Restrict a search to some places."""
    library: Any = faiss
    return library.SearchParameters(sel=library.IDSelectorBitmap(np.packbits(among, bitorder="little")))
