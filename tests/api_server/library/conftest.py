"""A small library, loaded."""

import pytest

from pcevolve_server.library import collection
from pcevolve_server.library.embedding import AppearanceEmbedder
from pcevolve_server.library.facts import FactStore
from pcevolve_server.library.folder import list_images
from pcevolve_server.library.loading import load
from pcevolve_server.model_settings import ModelSettings
from support.collections import library


@pytest.fixture
def root(tmp_path):
    return library(tmp_path / "tiles")


@pytest.fixture
def loaded(tmp_path):
    """Loads a folder as ``serve`` does, with an index of the test's own."""

    def load_it(folder, stopping=lambda: False, **changes):
        settings = {"model": f"library:{folder}", "library_cache": str(tmp_path / "cache"), "threads": 1}
        return load(ModelSettings(**settings | changes), stopping)

    return load_it


class Counting(AppearanceEmbedder):
    """Counts what it embeds."""

    def __init__(self):
        self.seen = 0

    def embed(self, image):
        self.seen += 1
        return super().embed(image)


@pytest.fixture
def collect(tmp_path):
    def collect(root, stopping=lambda: False):
        embedder = Counting()
        store = FactStore(tmp_path / "store", embedder.size)
        return collection.collect(list_images(root), embedder, store, 2, stopping), embedder.seen

    return collect
