"""A folder's images by name: each once, however its name is spelled."""

from __future__ import annotations

import pytest
from PIL import Image

from pcevolve.errors import DataError
from pcevolve.modality.images.kinds import Kind
from pcevolve.private import listing
from pcevolve.private.listing import list_folder


def test_two_files_that_unicode_spells_in_two_ways_are_refused(tmp_path):
    for label in ("bad", "good"):
        (tmp_path / label).mkdir()
        for shade, name in enumerate(("\u00e9", "e\u0301") if label == "bad" else ("a",)):
            Image.new("RGB", (8, 8), (shade, 0, 0)).save(tmp_path / label / f"{name}.png")
    with pytest.raises(DataError, match="bad/\u00e9\\.png is two files: rename one"):
        list_folder(tmp_path)


def test_a_folder_holds_at_most_a_million_images(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "tell_file_kind", lambda file: Kind.IMAGE)
    found = [(tmp_path / "cut" / "a.png", 0)] * 1_000_001
    with pytest.raises(DataError, match="holds more than 1,000,000 images: use a smaller dataset"):
        listing._sort_out(tmp_path, ("cut",), found, ())
    assert len(listing._sort_out(tmp_path, ("cut",), found[1:], ()).files) == 1_000_000
