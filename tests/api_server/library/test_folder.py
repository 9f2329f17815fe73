"""A library's images are the files of its folder."""

from __future__ import annotations

import pytest

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.library import collection
from pcevolve_server.library.embedding import Appearance
from pcevolve_server.library.facts import FactStore
from pcevolve_server.library.folder import list_images


class Counting(Appearance):
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
        shelf = FactStore(tmp_path / "shelf", embedder.size)
        return collection.collect(list_images(root), embedder, shelf, 2, stopping), embedder.seen

    return collect


@pytest.mark.parametrize(
    "content", [{}, {"notes.txt": b"x"}, {"a.png": b"x"}, {"a.tif": b"x", "b.tif": b"x"}]
)
def test_a_folder_without_an_image_is_refused_with_what_is_in_it(tmp_path, collect, content):
    (tmp_path / "tiles").mkdir()
    for name, data in content.items():
        (tmp_path / "tiles" / name).write_bytes(data)
    said = {"a.png": "1 files are damaged", "a.tif": "2 images are neither"}.get(
        min(content, default=""), "has no PNG"
    )
    with pytest.raises(ModelLoadError, match=said):
        collect(tmp_path / "tiles")
