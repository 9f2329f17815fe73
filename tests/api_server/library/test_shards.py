"""What was learnt of images is kept in pieces, whole or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.library import collection
from pcevolve_server.library.embedding import Appearance
from pcevolve_server.library.folder import ImageFile, list_images
from pcevolve_server.library.shards import Facts, FactStore, pieces
from support.collections import library, pixels


def files(count):
    return [ImageFile(f"tile/{number:05d}.png", 100 + number, number) for number in range(count)]


def facts(count, size=4):
    random = np.random.default_rng(count)
    codes, digests = (random.integers(0, 256, (count, width), dtype=np.uint8) for width in (size, 16))
    return Facts(np.full((count, 2), 24, np.int32), digests, codes)


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
        shelf = FactStore(tmp_path / "shelf", embedder.name, embedder.size)
        return collection.collect(list_images(root), embedder, shelf, 2, stopping), embedder.seen

    return collect


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: d[:40], lambda d: b"", lambda d: d[:-3] + b"???"]
)
def test_a_piece_that_is_not_whole_is_not_used(tmp_path, damage):
    shelf, piece = FactStore(tmp_path, "e", 4), files(9)
    shelf.keep(piece, facts(9))
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert shelf.load(piece) is None


def test_an_image_is_embedded_once_and_again_when_it_changes(tmp_path, collect):
    root = library(tmp_path / "tiles")
    first, seen = collect(root)
    assert (len(first.files), seen) == (18, 18)
    again, seen = collect(root)
    assert seen == 0
    assert np.array_equal(again.facts.codes, first.facts.codes)
    Image.fromarray(pixels((9, 9, 9), 0)).save(root / "painted tile" / "red" / "000.png")
    changed, seen = collect(root)
    assert seen > 0
    assert [*changed.facts.codes[12]] != [*first.facts.codes[12]]
    assert len(list((tmp_path / "shelf").glob("*.piece"))) == len(list(pieces(list_images(root).images)))
