"""What an image looks like, and which are nearest."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.library.embedding import AppearanceEmbedder, NeighbourIndex


def test_a_vector_of_this_name_is_what_it_always_was():
    """Indexes are kept by the embedder's name: other numbers need another."""
    rows, columns = np.mgrid[:80, :96]
    image = Image.fromarray(np.stack([3 * rows, 2 * columns, rows * columns % 251], axis=-1).astype(np.uint8))
    parts = np.array_split(AppearanceEmbedder().embed(image).astype(float), 16)
    golden = [
        34.39, 42.44, 38.78, 15.06, 14.5, 11.22, 10.47, 10.29, 10.0, 10.47,
        10.53, 10.88, 11.41, 14.65, 57.94, 58.0,
    ]  # fmt: skip
    assert AppearanceEmbedder.name == "appearance-1"
    assert [part.mean() for part in parts] == pytest.approx(golden, abs=0.06)


def test_neighbours_are_exact_and_only_among_those_that_are_asked_for():
    codes = np.random.default_rng(0).integers(0, 256, (500, 12), dtype=np.uint8)
    index, query = NeighbourIndex(codes), codes[7]
    exact = np.lexsort((np.arange(500), ((codes.astype(int) - query) ** 2).sum(1)))
    assert index.nearest(query, 500).tolist() == exact.tolist()
    among = np.arange(500) % 3 == 0
    expected = [place for place in exact if place % 3 == 0]
    for count in (1, 20, 400):
        assert index.nearest(query, count, among).tolist() == expected[:count]
