"""Models found in a folder, others left out and named, and an index that is whole or not used."""

import pytest
from PIL import Image

from pcevolve_server.errors import GenerationError
from pcevolve_server.library.collection import IndexingStoppedError
from pcevolve_shared import limits
from support.collections import library, pixels


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
    names = ("broken\\n.png", "empty.jpg", "locked.png", "long.jpg")
    said = ", ".join(["elsewhere", *(f"painted tile/red/{name}" for name in names)])
    assert (
        f"not PNG, JPEG or WebP within the limits, are not used: 7 files were left out: {said} ..."
        in caplog.text
    )


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
    with pytest.raises(IndexingStoppedError):
        collect(root, stopping=lambda: True)
    _, seen = collect(root)
    assert seen == 18


@pytest.mark.parametrize(("less", "images"), [(0, 3), (1, 2)])
def test_a_file_may_be_as_long_as_an_image_may_and_no_longer(tmp_path, collect, monkeypatch, less, images):
    root = library(tmp_path / "tiles", images=1)
    longest = max(each.stat().st_size for each in root.rglob("*.png")) + 1
    path = root / "painted tile" / "red" / "000.png"
    path.write_bytes(path.read_bytes().ljust(longest, b"\0"))
    monkeypatch.setattr(limits, "MAX_IMAGE_BYTES", longest - less)
    found, _ = collect(root)
    assert len(found.files) == images
