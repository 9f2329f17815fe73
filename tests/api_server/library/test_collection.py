"""Models found in a folder, others left out and named, and an index that is whole or not used."""

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.errors import GenerationError, ModelLoadError
from pcevolve_server.library import collection
from pcevolve_server.library.collection import Stopped
from pcevolve_server.library.embedding import Appearance, Neighbours
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


def test_a_vector_of_this_name_is_what_it_always_was():
    """Indexes are kept by the embedder's name: other numbers need another."""
    rows, columns = np.mgrid[:80, :96]
    image = Image.fromarray(np.stack([3 * rows, 2 * columns, rows * columns % 251], axis=-1).astype(np.uint8))
    parts = np.array_split(Appearance().embed(image).astype(float), 16)
    golden = [
        34.39, 42.44, 38.78, 15.06, 14.5, 11.22, 10.47, 10.29, 10.0, 10.47,
        10.53, 10.88, 11.41, 14.65, 57.94, 58.0,
    ]  # fmt: skip
    assert Appearance.name == "appearance-1"
    assert [part.mean() for part in parts] == pytest.approx(golden, abs=0.06)


def test_neighbours_are_exact_and_only_among_those_that_are_asked_for():
    codes = np.random.default_rng(0).integers(0, 256, (500, 12), dtype=np.uint8)
    index, query = Neighbours(codes), codes[7]
    exact = np.lexsort((np.arange(500), ((codes.astype(int) - query) ** 2).sum(1)))
    assert index.nearest(query, 500).tolist() == exact.tolist()
    among = np.arange(500) % 3 == 0
    expected = [place for place in exact if place % 3 == 0]
    for count in (1, 20, 400):
        assert index.nearest(query, count, among).tolist() == expected[:count]


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


def test_what_is_no_image_is_skipped_counted_and_named(tmp_path, collect, caplog):
    root = library(tmp_path / "tiles", images=2)
    red = root / "painted tile" / "red"
    (red / "broken\n.png").write_bytes(b"\x89PNG\r\n\x1a\nbut no more")
    (red / "empty.jpg").write_bytes(b"")
    (red / "old.gif").write_bytes(b"GIF89a")
    Image.new("RGB", (9000, 4)).save(red / "wide.png")
    with (red / "long.jpg").open("wb") as file:
        file.truncate(2**25)
    (red / "locked.png").symlink_to("/etc/passwd")
    (root / "elsewhere").symlink_to(tmp_path)
    (red / ".hidden.png").write_bytes(b"")
    found, _ = collect(root)
    assert len(found.files) == 6
    assert "4 files were skipped" in caplog.text
    assert "broken\\n.png" in caplog.text
    assert "2 links were not followed: elsewhere, painted tile/red/locked.png" in caplog.text
    assert "1 images are neither PNG, JPEG nor WebP" in caplog.text


def test_an_image_that_was_changed_under_the_server_is_not_served(tmp_path, collect):
    root = library(tmp_path / "tiles", images=1)
    found, _ = collect(root)
    Image.fromarray(pixels((9, 9, 9), 0)).save(root / "painted tile" / "blue" / "000.png")
    (root / "painted tile" / "green" / "000.png").unlink()
    for place in (0, 1):
        with pytest.raises(GenerationError, match="restart the server"):
            found.read(place)
    assert found.read(2).size == (24, 24)


def test_indexing_stops_when_the_server_does_and_goes_on_later(tmp_path, collect):
    root = library(tmp_path / "tiles")
    with pytest.raises(Stopped):
        collect(root, stopping=lambda: True)
    _, seen = collect(root)
    assert seen == 18


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
