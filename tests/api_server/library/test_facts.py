"""What was learnt of images is kept, and begun anew where it is damaged."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pcevolve_server.errors import ModelLoadError
from pcevolve_server.library.facts import FactStore, file_digest
from support.collections import library, pixels


@pytest.mark.parametrize(
    "damage", [lambda d: d[: len(d) // 2], lambda d: d[:40], lambda d: b"", lambda d: b"?" * 9999]
)
def test_an_index_that_is_damaged_is_made_anew(tmp_path, collect, damage):
    first, seen = collect(library(tmp_path / "tiles"))
    (path,) = (tmp_path / "store").glob("*.sqlite")
    path.write_bytes(damage(path.read_bytes()))
    again, seen = collect(tmp_path / "tiles")
    assert seen == 18
    assert np.array_equal(again.facts.codes, first.facts.codes)


def test_a_folder_that_cannot_be_written_is_named_with_the_option_for_another(tmp_path):
    (tmp_path / "store").touch()
    with pytest.raises(
        ModelLoadError, match=r"index in .*store: .*choose another folder with --library-cache"
    ):
        FactStore(tmp_path / "store", 4)


def test_an_image_is_embedded_once_and_again_when_it_changes(tmp_path, collect):
    root = library(tmp_path / "tiles")
    first, seen = collect(root)
    assert (len(first.files), seen) == (18, 18)
    again, seen = collect(root)
    assert seen == 0
    assert np.array_equal(again.facts.codes, first.facts.codes)
    Image.fromarray(pixels((9, 9, 9), 0)).save(root / "painted tile" / "red" / "000.png")
    changed, seen = collect(root)
    assert [*changed.facts.codes[12]] != [*first.facts.codes[12]]
    assert seen == 1


class GivenUpError(Exception):
    pass


def test_who_finds_another_at_work_waits_and_may_give_up(tmp_path):
    one, other = FactStore(tmp_path, 4), FactStore(tmp_path, 4)
    waited = []

    def wait():
        waited.append(True)
        if len(waited) == 3:
            raise GivenUpError

    with one.alone(wait), pytest.raises(GivenUpError), other.alone(wait):
        raise AssertionError("two at once")
    assert len(waited) == 3
    with other.alone(wait):
        assert len(waited) == 3


def test_a_file_is_known_by_sixteen_bytes():
    assert file_digest(b"").hex() == "cae66941d9efbd404e4d88758ea67670"
