"""A folder's images by name: each once, however its name is spelled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from pcevolve.errors import DataError
from pcevolve.keeper.private import listing
from pcevolve.keeper.private.listing import list_folder
from pcevolve.public.media.images.kinds import FileKind


def test_two_files_that_unicode_spells_in_two_ways_are_refused(tmp_path):
    for label in ("bad", "good"):
        (tmp_path / label).mkdir()
        for shade, name in enumerate(("\u00e9", "e\u0301") if label == "bad" else ("a",)):
            Image.new("RGB", (8, 8), (shade, 0, 0)).save(tmp_path / label / f"{name}.png")
    with pytest.raises(DataError, match="bad/\u00e9\\.png is the name of two files: rename one"):
        list_folder(tmp_path)


def test_a_folder_holds_at_most_a_million_images(tmp_path, monkeypatch):
    monkeypatch.setattr(listing, "tell_file_kind", lambda file: FileKind.IMAGE)
    found = [(tmp_path / "cut" / "a.png", 0)] * 1_000_001
    with pytest.raises(DataError, match="holds more than 1,000,000 images: use a smaller dataset"):
        listing._sort_out(tmp_path, ("cut",), found, ())
    assert len(listing._sort_out(tmp_path, ("cut",), found[1:], ()).files) == 1_000_000


def test_twins_are_named_with_what_they_are_alike_in_and_no_item_is_its_own():
    listing.refuse_twins(["a", "b"], [b"1", b"2"], "pixels")
    with pytest.raises(DataError, match=r"^private data: c has the same pixels as a; remove one of them$"):
        listing.refuse_twins(["a", "b", "c"], [b"1", b"2", b"1"], "pixels")


@pytest.mark.parametrize(
    ("count", "said"), [(0, ""), (2, "0, 1"), (5, "0, 1, 2, 3, 4"), (7, "0, 1, 2, 3, 4 and 2 more")]
)
def test_five_are_named_and_the_others_counted(count, said):
    assert listing.list_some([str(each) for each in range(count)]) == said


def make(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".png"):
            Image.new("RGB", (8, 8), (len(name), 0, 0)).save(root / name)
        else:
            (root / name).write_text("label")
    return root


@pytest.mark.parametrize(
    ("names", "faults"),
    [
        (["cut/a.png", "good/b.png", "good/notes.txt"], []),
        (
            ["cut/a.png", "good/b.png", "loose.png"],
            ["loose.png is outside the class folders: move it into a class"],
        ),
        (
            ["cut/a.png", "good/b.png", *(f"{each}.png" for each in range(7))],
            [
                *(f"{each}.png is outside" for each in range(5)),
                "2 more images are outside the class folders",
            ],
        ),
        (["cut/a.png"], ["{root} has only one class, 'cut': add another class"]),
        (
            ["a.png", "labels.csv"],
            [
                "{root} has no class folders: put .*; the file labels.csv, which is not read, may list the class"
            ],
        ),
        (
            ["labels.csv"],
            [r"{root} has no class folders: put the images into one subfolder per class$", ".*"],
        ),
        (
            ["train/cut/a.png", "train/good/b.png", "test/cut/c.png", "test/good/d.png"],
            ["{root} contains splits with class folders: give --private {root}/train --test {root}/test"],
        ),
        (
            ["all/cut/a.png", "all/good/b.png"],
            ["the class folders of {root} are one level deeper: give {root}/all"],
        ),
        (
            ["cut/p1/a.png", "good/p2/b.png"],
            [
                "the class folders contain folders, such as cut/p1: if each folder holds one patient's "
                "images, give --unit-map FILE"
            ],
        ),
    ],
)
def test_what_is_wrong_with_a_folders_layout_is_told_with_what_to_do(tmp_path, names, faults):
    root = make(tmp_path / "data", *names)
    found = list_folder(root, strict=False).faults
    assert len(found) == len(faults), found
    for said, fault in zip(found, faults, strict=True):
        assert re.match(fault.replace("{root}", re.escape(str(root))), said), said
