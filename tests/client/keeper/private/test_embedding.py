"""Private images are embedded a few at a time, which changes nothing about what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from pcevolve.keeper.private import embedding
from pcevolve.keeper.private.dataset import load
from pcevolve.keeper.private.embedding import embed_images
from pcevolve.keeper.private.judge import PrivateViews
from pcevolve.keeper.private.listing import list_folder
from pcevolve.public.encoders import load_encoder
from pcevolve.public.media.images.appearance import Appearance
from support.folders import class_folders

LOOK = Appearance(0.2, 0.7, 0.5, 0.4, 0.5, 0.5)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(list_folder(class_folders(tmp_path_factory.mktemp("data"), 5, shots=5)), keep=0)


@pytest.mark.models
@pytest.mark.parametrize("rendition", [None, LOOK])
def test_batches_of_stored_images_are_embedded_as_all_at_once_in_memory_and_progress_is_told(
    data, rendition, monkeypatch
):
    monkeypatch.setattr(embedding, "BATCH_IMAGES", 3)
    encoder, said = load_encoder("bundled"), []
    views = PrivateViews(data, encoder)
    found = views.embeddings(rendition, lambda done, total: said.append((done, total))).embeddings
    shown = [image if rendition is None else rendition.apply_to(image) for image in data.items]
    assert np.array_equal(found, encoder.embed(shown))
    assert said == [(3, 10), (6, 10), (9, 10), (10, 10)]


@dataclass(frozen=True)
class Numbers:
    """An encoder that shows numbers as they are."""

    name: str = "numbers"
    dimension: int = 1
    frame: None = None

    def embed(self, items: Sequence[float]) -> np.ndarray:
        return np.array([[each] for each in items])


@pytest.mark.parametrize(
    ("numbers", "kept"),
    [
        ([0.5, 2.0**100, float("nan"), -0.0], np.float32),
        ([0.5, 0.25, 0.1, 0.5], np.float64),
        ([1e-60, 0.5, 0.25, 1], np.float64),
        ([1e60, 0.5, 0.25, 1], np.float64),
    ],
)
def test_embeddings_take_half_the_memory_where_that_changes_none(numbers, kept, monkeypatch):
    monkeypatch.setattr(embedding, "BATCH_IMAGES", 1)
    rows = embed_images(numbers, Numbers(), None, lambda done, total: None)
    assert rows.dtype == kept
    assert np.array_equal(rows[:, 0], numbers, equal_nan=True)
