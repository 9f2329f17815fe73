"""Privacy units of several images, and one clear line for each thing that can be wrong with their file."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from pcevolve.errors import DataError
from pcevolve.keeper.ledger.units import PrivateUnit
from pcevolve.keeper.private.dataset import PrivateDataset, load, load_folder
from pcevolve.keeper.private.listing import list_folder
from pcevolve.keeper.private.units import (
    group_into_units,
    read_units,
    require_unit_size,
    write_units,
)

NAMES = ("bad/a.png", "bad/b.png", "good/a.png", "good/b.png")
ROWS = "file,patient\n" + "".join(f"{name},p{place % 2}\n" for place, name in enumerate(NAMES))


def save(path: Path, shade: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(path)


def group_by_file(path: Path, dataset: PrivateDataset) -> PrivateDataset:
    return group_into_units(dataset, read_units(path, dataset.names))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for shade, name in enumerate(NAMES):
        save(tmp_path / "data" / name, shade)
    return tmp_path / "data"


@pytest.fixture
def grouped(folder: Path, tmp_path: Path):
    def read(text: str | bytes) -> PrivateDataset:
        (tmp_path / "units.csv").write_bytes(text.encode() if isinstance(text, str) else text)
        return group_by_file(tmp_path / "units.csv", load_folder(folder))

    return read


def test_every_image_is_a_unit_of_its_own_or_grouped_across_classes_and_the_header_names_the_unit(
    folder, grouped
):
    alone, dataset = load_folder(folder), grouped(ROWS)
    assert (alone.unit_of.tolist(), alone.unit_name) == ([0, 1, 2, 3], "image")
    assert alone.privacy_units() == tuple(PrivateUnit((digest,)) for digest in alone.digests)
    a, b, c, d = dataset.digests
    assert dataset.names == NAMES
    assert dataset.unit_of.tolist() == [0, 1, 0, 1]
    assert dataset.unit_name == "patient"
    assert dataset.privacy_units() == (PrivateUnit((a, c), "p0"), PrivateUnit((b, d), "p1"))


@pytest.mark.parametrize(("on_disk", "in_map"), [("\u00e9", "e\u0301"), ("e\u0301", "\u00e9")])
def test_files_and_classes_are_found_by_their_names_however_unicode_spells_them(tmp_path, on_disk, in_map):
    for shade, name in enumerate((f"r{on_disk}d/{on_disk}.png", f"r{on_disk}d/b.png", "good/a.png")):
        save(tmp_path / "data" / name, shade)
    rows = f"file,patient\nr{in_map}d/{in_map}.png,1\nr{in_map}d/b.png,1\ngood/a.png,2\n"
    (tmp_path / "units.csv").write_text(rows, "utf-8")
    dataset = group_by_file(tmp_path / "units.csv", load_folder(tmp_path / "data"))
    assert dataset.labels == ("good", "r\u00e9d")
    assert sorted(zip(dataset.names, dataset.unit_of.tolist(), strict=True)) == [
        ("good/a.png", 1),
        ("r\u00e9d/b.png", 0),
        ("r\u00e9d/\u00e9.png", 0),
    ]


def test_a_unit_and_a_file_are_the_same_however_a_table_spells_them(grouped):
    rows = ROWS.replace("p0", "Zoe\u0301", 1).replace("p0", " Zo\u00e9").replace("good/b", ".\\good\\b")
    assert grouped(rows).unit_of.tolist() == grouped(ROWS).unit_of.tolist()
    assert grouped(ROWS.replace("p0", "7", 1).replace("p0", "7.0")).unit_of.tolist() == [0, 1, 0, 1]
    assert grouped(ROWS.replace("p0", "7", 1).replace("p0", "7.5")).unit_of.tolist() == [0, 2, 1, 2]


@pytest.mark.parametrize("comment", ["# one, 'two'\n", '#\r\n# and "\r\n'], ids=["one line", "two lines"])
def test_a_map_may_begin_with_a_comment_and_its_lines_are_counted_with_it(tmp_path, comment):
    (tmp_path / "map.csv").write_text(comment + ROWS)
    assert set(read_units(tmp_path / "map.csv", NAMES).of.values()) == {"p0", "p1"}
    (tmp_path / "map.csv").write_text(comment + ROWS + "a,b,c\n")
    with pytest.raises(DataError, match=rf"not so: line {len(comment.splitlines()) + 6}\)"):
        read_units(tmp_path / "map.csv", NAMES)


@pytest.mark.parametrize("name", ["bad/a\\b/1.png", "bad/ p1/1.png ", "bad/\udce9/1.png"])
def test_a_name_that_no_map_can_list_leaves_no_file(tmp_path, name):
    with pytest.raises(DataError, match="cannot be listed: rename"):
        write_units(tmp_path / "map.csv", ["good/p/2.png", name])
    assert not (tmp_path / "map.csv").exists()


def test_the_same_image_in_two_patients_folders_is_named(tmp_path):
    for name in ("a/p1/1.png", "b/p1/1.png", "a/p2/1.png"):
        save(tmp_path / name, 7 if "p1" in name else 8)
    with pytest.raises(DataError, match=r"b/p1/1\.png has the same pixels as a/p1/1\.png"):
        load(list_folder(tmp_path, nested=True))


def test_images_that_are_not_listed_are_named_up_to_five(folder, grouped):
    for number in range(7):
        save(folder / "good" / f"x{number}.png", 100 + number)
    with pytest.raises(DataError, match=r"does not list good/x0\.png, .*x4\.png and 2 more") as caught:
        grouped(ROWS)
    assert "x5" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (ROWS + "good/c.png,p1\n", r"lists what is not in the private folder: good/c\.png; list every"),
        (ROWS + "good/b.png,p0\n", r"lists twice: good/b\.png; list every"),
        (ROWS + "./good/b.png,p1\n", r"lists twice: good/b\.png; list every"),
        (ROWS.replace("good/a.png,p0", "good/a.png,  "), r"has no unit for good/a\.png; list every"),
        (ROWS.replace("good/a.png,p0", "good/a.png"), r"must have two columns.*not so: line 4\)"),
        (ROWS.replace("good/a.png,p0", "good/a.png,p0,p1"), r"must have two columns.*not so: line 4\)"),
        ("", "must have two columns, a first line like file,patient"),
        ("file,patient\n", "must have two columns, a first line like file,patient"),
        (ROWS.removeprefix("file,patient\n"), "begins with an image: it needs a first line like file,pat"),
        (
            ROWS.replace("patient", ""),
            "does not name the unit in its first line: it needs a first line like file,patient",
        ),
        (ROWS.replace("patient", "pa\x1btient"), "does not name the unit in its first line"),
        (
            ROWS.replace("patient", "Image"),
            "calls its unit an image: use a word for what its images have in common",
        ),
        (b"file,patient\n\xff\xfe,p0\n", "cannot be read: it is not a CSV file in UTF-8"),
        ('file,patient\n"bad/a.png,p0\n', "cannot be read: it is not a CSV file in UTF-8"),
        ("file,patient\n" + "x" * 200_000 + ",p0\n", "cannot be read: it is not a CSV file in UTF-8"),
    ],
)
def test_what_is_wrong_with_the_table_is_told_in_one_line(grouped, text, fault):
    with pytest.raises(DataError, match=fault) as caught:
        grouped(text)
    assert str(caught.value).startswith("--unit-map ")
    assert "\n" not in str(caught.value)


def test_a_unit_of_more_images_than_declared_is_refused_by_its_files_and_not_by_its_name(grouped):
    dataset = grouped(ROWS)
    units = [dataset.unit_names[unit] for unit in dataset.unit_of]
    require_unit_size(units, dataset.names, "patient", 2)
    with pytest.raises(
        DataError, match=r"data.unit_size 1 allows, such as the .* with bad/a\.png, bad/b"
    ) as caught:
        require_unit_size(units, dataset.names, "patient", 1)
    assert not {"p0", "p1"} & set(str(caught.value).replace(",", " ").split())


def test_no_error_names_a_unit(grouped):
    with pytest.raises(DataError) as caught:
        grouped(ROWS.replace("p1", "Erika Mustermann") + "good/b.png,Max Mustermann\n")
    assert "Mustermann" not in str(caught.value)


def test_a_missing_table_and_a_huge_one_are_refused(folder, tmp_path):
    dataset, path = load_folder(folder), tmp_path / "units.csv"
    with pytest.raises(DataError, match=r"units\.csv cannot be read: No such file"):
        group_by_file(path, dataset)
    with path.open("wb") as file:
        file.truncate(100_000_001)
    with pytest.raises(DataError, match=r"units\.csv cannot be read: it is larger than 100,000,000 bytes"):
        group_by_file(path, dataset)


@pytest.mark.parametrize(
    ("path", "label", "fault"),
    [
        ("nowhere", "leather", "nowhere: no such folder"),
        ("empty", "leather", "empty holds no images"),
        ("data", "aux", "'aux' cannot be used as a label, because Windows .*: choose other --domain words"),
    ],
)
def test_what_is_wrong_with_a_folder_without_labels_is_told(folder, tmp_path, path, label, fault):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=fault):
        load(list_folder(tmp_path / path, label))
