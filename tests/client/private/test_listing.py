"""A folder's images by name: each once, however its name is spelled."""

from __future__ import annotations

import pytest
from PIL import Image

from pcevolve.errors import DataError
from pcevolve.private.listing import list_folder


def test_two_files_that_unicode_spells_in_two_ways_are_refused(tmp_path):
    for label in ("bad", "good"):
        (tmp_path / label).mkdir()
        for shade, name in enumerate(("\u00e9", "e\u0301") if label == "bad" else ("a",)):
            Image.new("RGB", (8, 8), (shade, 0, 0)).save(tmp_path / label / f"{name}.png")
    with pytest.raises(DataError, match="bad/\u00e9\\.png is two files: rename one"):
        list_folder(tmp_path)
