"""A small library, loaded."""

import pytest

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
