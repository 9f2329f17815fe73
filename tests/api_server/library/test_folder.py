"""A library's images are the files of its folder."""

from __future__ import annotations

import pytest

from pcevolve_server.errors import ModelLoadError


@pytest.mark.parametrize(
    "content", [{}, {"notes.txt": b"x"}, {"a.png": b"x"}, {"a.tif": b"x", "b.tif": b"x"}]
)
def test_a_folder_without_an_image_is_refused_with_what_is_in_it(tmp_path, collect, content):
    (tmp_path / "tiles").mkdir()
    for name, data in content.items():
        (tmp_path / "tiles" / name).write_bytes(data)
    left_out = {"a.png": "; 1 files were left out: a.png", "a.tif": "; 2 files were left out: a.tif, b.tif"}
    said = "has no PNG, JPEG or WebP within bounds" + left_out.get(min(content, default=""), "")
    with pytest.raises(ModelLoadError, match=f"{said}$"):
        collect(tmp_path / "tiles")
