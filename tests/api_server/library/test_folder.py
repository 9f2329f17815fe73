"""A library's images are the files of its folder."""

from __future__ import annotations

import os

import pytest

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.library.folder import list_images


@pytest.mark.parametrize(
    "content", [{}, {"notes.txt": b"x"}, {"a.png": b"x"}, {"a.tif": b"x", "b.tif": b"x"}]
)
def test_a_folder_without_an_image_is_refused_with_what_is_in_it(tmp_path, collect, content):
    (tmp_path / "tiles").mkdir()
    for name, data in content.items():
        (tmp_path / "tiles" / name).write_bytes(data)
    left_out = {"a.png": "; 1 files were left out: a.png", "a.tif": "; 2 files were left out: a.tif, b.tif"}
    said = "has no PNG, JPEG or WebP image within the limits" + left_out.get(min(content, default=""), "")
    with pytest.raises(ModelLoadError, match=f"{said}$"):
        collect(tmp_path / "tiles")


def test_pipes_links_and_what_is_hidden_are_passed_over_at_any_depth(tmp_path):
    (tmp_path / "b" / "a").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    for name in ("z.png", "b/a/x.PNG", "b/y.jpg", ".hidden/h.png", "b/s.tiff", "b/y.txt", "b/metadata.csv"):
        (tmp_path / name).write_bytes(b"")
    for name in ("metadata.csv", "p.png", "p.txt"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "b" / "link.png").symlink_to(tmp_path / "z.png")
    found = list_images(tmp_path)
    assert [each.path for each in found.images] == ["b/a/x.PNG", "b/y.jpg", "z.png"]
    assert (found.tables, found.texts) == (("b/metadata.csv",), {"b/y.txt"})
    assert sorted(found.left_out) == ["b/link.png", "b/s.tiff"]
