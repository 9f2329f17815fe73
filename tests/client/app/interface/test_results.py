"""A finished run as a value: its images, and the forms that it leaves in."""

from __future__ import annotations

import pytest

import pcevolve
from pcevolve.app.interface.results import DatasetImage


def test_the_images_are_the_released_ones_and_open_as_pixels(evolved):
    result = evolved(method="t2i")
    assert result.labels == ("type A", "type B")
    assert [each.label for each in result.images] == ["type A"] * 2 + ["type B"] * 2
    assert all(
        each.data == (result.dataset / each.label / f"{each.id}.png").read_bytes() for each in result.images
    )
    assert result.images[0].open().size == (16, 16)
    result.images[0].path.write_bytes(b"no image")
    with pytest.raises(pcevolve.TranscriptError, match="is not the image that was released"):
        result.images[0].open()


def test_a_run_writes_the_forms_that_it_is_asked_for(evolved):
    result = evolved(method="t2i", formats=("parquet", "webdataset"), licence="cc-by-4.0")
    assert (result.folder / "release-parquet" / "data" / "train-00000-of-00001.parquet").is_file()
    for name in ("release", "release-parquet", "release-webdataset"):
        assert 'license: "cc-by-4.0"' in (result.folder / name / "README.md").read_text()
    assert result.verify()


def test_a_card_has_a_licence_that_is_one(evolved):
    with pytest.raises(pcevolve.UsageError, match="licence: String should match pattern"):
        evolved(licence="mit\ntags: [private]")
    result = evolved(method="t2i")
    assert (result.dataset / "README.md").read_text().startswith('---\nlicense: "unknown"\n')


def test_a_released_text_is_text_and_no_damaged_image(tmp_path):
    (tmp_path / "a.txt").write_text("a note", encoding="utf-8")
    (tmp_path / "a.png").write_bytes(b"no image")
    note, picture = DatasetImage(tmp_path / "a.txt", "cut", "a"), DatasetImage(tmp_path / "a.png", "cut", "a")
    assert note.text == "a note"
    with pytest.raises(pcevolve.UsageError, match=r"is a text: \.text has it"):
        note.open()
    with pytest.raises(pcevolve.UsageError, match="is an image"):
        assert picture.text
