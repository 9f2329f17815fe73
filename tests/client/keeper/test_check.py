"""``pcevolve check``: what it says of a private folder, and by which exit code."""

from __future__ import annotations

import csv
import json
import socket

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import DataError
from pcevolve.keeper.private.listing import list_folder
from support.checkups import save, tree, write_map


def test_a_folder_that_a_run_would_take_is_told_so_with_the_next_command(check, folder):
    code, told = check()
    assert code == 0
    for part in (
        *("classes 2: cut, good", "cut 4, good 4", "images 8: 8 PNG", "sizes all 48x48"),
        "fits --shots 4 yes would be refused nothing",
        "Nothing was sent or spent. These counts are private: keep them on this machine.",
        f"next: pcevolve preview --private {folder} --shots 4 --domain WORDS --out RUN",
    ):
        assert part in told
    found = json.loads(check(folder, "--json", "--shots", 4)[1])
    assert (found["fit"], found["faults"], found["found"]["images"]) == (True, [], "8: 8 PNG")


def test_what_the_bundled_model_draws_is_told_before_it_is_asked_for_anything_else(check, folder):
    known = "note: the bundled model can draw only blood smear, blood cell, chest x-ray"
    assert known in check()[1]
    assert (
        "this model cannot draw 'histology'"
        in check(folder, "--shots", 4, "--set", "data.domain=histology")[1]
    )
    for fine in ("data.domain=blood smear", "provider.model=other"):
        told = check(folder, "--shots", 4, "--set", fine)[1]
        assert "note: the bundled model" not in told
        assert "does not draw" not in told


def test_nothing_is_sent_and_no_ledger_is_made(check, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def refuse(*_: object) -> None:
        raise AssertionError("a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    assert check()[0] == 0
    assert not (tmp_path / "state").exists()


def test_all_that_would_be_refused_is_told_with_what_mends_it(check, folder):
    (folder / "cut" / "photo.heic").write_bytes(b"x")
    (folder / "good" / "torn.jpg").write_bytes(b"\xff\xd8\xff")
    Image.open(folder / "cut" / "0.png").save(folder / "good" / "copy.bmp")
    (folder / "void").mkdir()
    (folder / "cut" / "notes.txt").write_text("seen on Monday")
    code, told = check()
    assert code == 3
    for fault in (
        "fix: cut/photo.heic is HEIC: convert it, such as by heif-convert photo.heic photo.png",
        "fix: good/torn.jpg is damaged or not an image; replace or remove it",
        "fix: good/copy.bmp has the same pixels as cut/0.png, in another class: remove one of them",
        "fix: class 'void' is empty: add images to",
        "sizes 9 of them 48x48",
        "skipped 1: cut/notes.txt",
        "identical pixels 1: cut/0.png = good/copy.bmp",
    ):
        assert fault in told
    assert "next:" not in told


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("", "the classes hold 4 units each, but --shots is 10: give --shots 4: uses all units"),
        (
            "--shots 2",
            "uses 2 units per class, drawn at random, at epsilon 24.389 for one unit of the whole folder "
            "(10 for one that was drawn)",
        ),
        ("--shots 4 --unit-map units.csv", "units.csv does not list cut/1.png"),
        (
            "--set data.subsample=9",
            "data.subsample draws 9 units of each class: give '--set data.subsample=4' or fewer",
        ),
        ("--shots 4 --set data.window=-160,240", "is a colour image, and data.window is for grey values"),
        ("--shots 4 --set data.unit_column=patient", "data.unit_column is about texts, and this API draws"),
        ("--shots 4 --set=data.unit_namespace=ward", "says whose names the units have: give --unit-map"),
    ],
)
def test_options_that_do_not_fit_the_folder_are_faults(check, folder, tmp_path, monkeypatch, options, fault):
    (tmp_path / "units.csv").write_text("file,patient\ncut/0.png,p\n")
    monkeypatch.chdir(tmp_path)
    code, told = check(folder, *options.split())
    assert code == 3
    assert fault in told


@pytest.mark.parametrize(
    "method", [["--method", "pe", "--set", "method.class_counts=true"], ["--method", "t2i"]]
)
def test_other_numbers_than_shots_are_no_fault_where_a_run_takes_them(check, folder, method):
    assert check(folder, "--shots", 40)[0] == 3
    assert check(folder, "--shots", 40, *method)[0] == 0


def test_units_of_more_images_than_declared_are_a_fault(check, folder, tmp_path):
    names = [each.relative_to(folder).as_posix() for each in sorted(folder.rglob("*.png"))]
    rows = [f"{name},{name[0]}{place % 2}" for place, name in enumerate(names)]
    (tmp_path / "units.csv").write_text("\n".join(["file,patient", *rows]))
    asked = (folder, "--shots", 2, "--unit-map", tmp_path / "units.csv", "--set")
    assert check(*asked, "data.unit_size=2")[0] == 0
    code, told = check(*asked, "data.unit_size=1")
    assert code == 3
    assert "a patient has more images than data.unit_size 1 allows" in told
    table = tmp_path / "t.csv"
    table.write_text(
        "text,label,who\n" + "".join(f"text {n},{'ab'[n % 2]},{n // 4}{n % 2}\n" for n in range(8))
    )
    asked = (table, "--shots", 2, "--set", "data.unit_column=who", "--set")
    assert check(*asked, "data.unit_size=2")[0] == 0
    assert "has more images than data.unit_size 1 allows" in check(*asked, "data.unit_size=1")[1]


def test_more_classes_than_a_run_takes_are_a_fault(check, tmp_path):
    rows = "".join(f"text {n},c{n}\n" for n in range(1001))
    (tmp_path / "t.csv").write_text(f"text,label\n{rows}")
    code, told = check(tmp_path / "t.csv", "--shots", 1)
    assert code == 3
    assert "there are 1,001 classes, but a run can use at most 1,000" in told


def test_a_folder_of_texts_is_looked_at_as_texts(check, tmp_path):
    for place in range(4):
        file = tmp_path / "d" / "ab"[place % 2] / f"{place}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text {place}")
    code, told = check(tmp_path / "d", "--shots", 2)
    assert code == 3
    assert (
        f"contains texts and no images: to check texts, use pcevolve check {tmp_path / 'd'} --dialect chat"
        in told
    )
    code, told = check(tmp_path / "d", "--shots", 2, "--dialect", "chat")
    assert code == 0
    assert (
        f"next: pcevolve preview --private {tmp_path / 'd'} --shots 2 --dialect chat --model bundled-text --domain"
        in told
    )


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("nowhere", "nowhere: no such folder"),
        ("data/cut", "has no class folders: put the images into one subfolder"),
        ("data/cut/0.png", "0.png is one image: give the folder that contains one subfolder of images per"),
    ],
)
def test_a_folder_that_is_none_is_told_in_a_line(check, tmp_path, name, fault):
    code, told = check(tmp_path / name)
    assert code == 3
    assert fault in told


def test_labels_in_a_table_beside_images_are_told_to_be_unread(check, folder):
    images = folder / "cut"
    assert "which is not read" not in check(images)[1]
    (images / "labels.csv").write_text("file,label\n0.png,cut\n")
    assert "the file labels.csv, which is not read, may list the class of each image" in check(images)[1]


def test_values_without_contrast_are_told_with_their_range_and_the_way_out(check, folder):
    for place, path in enumerate(sorted(folder.rglob("*.png"))):  # Hounsfield units of -1000 to 60, moved up
        values = np.random.default_rng(place).integers(-1000, 60, (48, 48))
        values[0] = np.tile([-1000, 60], 24)
        Image.fromarray((values + 32768).astype(np.uint16)).save(path)
    code, told = check()
    assert code == 3
    assert "pixel values 8 images refused (range 31768 to 32828)" in told
    assert "cut/0.png has next to no contrast in the whole range of its 16 bits: say which" in told
    assert "data.window becomes part of the public plan: choose LOW,HIGH by the modality" in told
    assert "and not by these images" in told


def test_folders_of_patients_are_counted_as_patients_and_answered_with_a_map(check, command, tmp_path):
    folders = [f"{label}/{label}{patient}" for label in "ab" for patient in range(3)]
    root, units = tree(tmp_path / "d", *folders, images=2), tmp_path / "units.csv"
    code, told = check(root, "--shots", 3)
    assert code == 3
    assert "with the lines 'file,patient' and, for each image, such as 'a/a0/0.png,a0'" in told
    assert f"pcevolve check {root} --write-unit-map FILE" in told
    assert "units per class (one patient each) a 3, b 3" in told
    assert "fits --shots 3 not known until the other problems are fixed" in told
    with pytest.raises(DataError, match="the class folders contain folders, such as a/a0"):
        list_folder(root, None)
    code, told = check(root, "--shots", 3, "--write-unit-map", units)
    assert code == 0
    assert f"note: {units} was written: give --unit-map {units} to the run" in told
    assert "--write-unit-map" not in told
    assert f"--shots 3 --unit-map {units} --domain WORDS" in told
    linked = "a patient is recognised in other datasets by its name"
    assert f"note: {linked}" in told
    with units.open(newline="") as file:
        assert file.readline().startswith(f"# {linked}")
        rows = list(csv.reader(file))
    assert rows[:2] == [["file", "patient"], ["a/a0/0.png", "a0"]]
    assert [row[0] for row in rows[1:]] == [*list_folder(root, None, nested=True).names]
    again = command("check", root, "--shots", 3, "--write-unit-map", units)
    assert again.said == (
        f"error: --write-unit-map {units} already exists: use it with --unit-map {units}, or give another file"
    )
    code, told = check(root, "--shots", 3, "--unit-map", units)
    assert code == 0
    assert f"next: pcevolve preview --private {root} --shots 3 --unit-map {units} --domain WORDS" in told


@pytest.mark.parametrize("content", ["file,patient\n", "file,patient\ncut/0.png,P1\n", "x", None])
def test_nothing_is_advised_of_units_whose_map_cannot_be_used(check, folder, tmp_path, content):
    if content is not None:
        (tmp_path / "u.csv").write_text(content)
    code, told = check(folder, "--shots", 10, "--unit-map", tmp_path / "u.csv")
    assert code == 3
    assert "fix: --unit-map" in told
    assert "fits --shots 10 not known until the other problems are fixed" in told
    for word in ("give --shots", "uses all units", "units per class", "other unit"):
        assert word not in told


@pytest.mark.parametrize("fault", ["loose", "twin", "damaged", "odd"])
def test_no_number_of_shots_is_advised_before_what_changes_it_is_mended(check, folder, fault):
    data = (folder / "cut" / "0.png").read_bytes()
    if fault == "loose":
        (folder / "x.png").write_bytes(data)
    elif fault == "twin":
        (folder / "cut" / "x.png").write_bytes(data)
    else:
        (folder / "cut" / ("x.png" if fault == "damaged" else "x.heic")).write_bytes(b"\0")
    code, told = check(folder, "--shots", 10)
    assert code == 3
    assert "fits --shots 10 not known until the other problems are fixed" in told
    assert "uses all units" not in told


def test_a_map_is_not_read_before_what_lies_elsewhere_is_moved(check, folder, tmp_path):
    units = write_map(tmp_path / "u.csv", folder, lambda name: "P1")
    units.write_text(units.read_text() + "cut/x.png,P1\n")
    save(folder / "x.png", 99)
    told = check(folder, "--shots", 4, "--unit-map", units)[1]
    assert "x.png is outside the class folders" in told
    assert "lists what is not in the private folder" not in told


def test_patients_in_two_spellings_are_named_and_not_merged(check, folder, tmp_path):
    spelled = {"cut/0.png": "007", "cut/1.png": "7", "good/0.png": "P-1", "good/1.png": "p01"}
    units = write_map(tmp_path / "u.csv", folder, lambda name: spelled.get(name, name))
    code, told = check(folder, "--shots", 4, "--unit-map", units)
    assert code == 0
    assert "or punctuation: 2: '007' and '7', 'P-1' and 'p01'. Each name counts as a separate patient" in told
    assert "units per class (one patient each) cut 4, good 4" in told


def test_patients_of_texts_in_two_spellings_are_named(check, tmp_path):
    rows = "".join(
        f"text {n} of {c},{c},{p}\n" for c in "ab" for n, p in enumerate(("7", "007", "1.2E+11", "8"))
    )
    (tmp_path / "t.csv").write_text(f"text,label,patient\n{rows}")
    code, told = check(tmp_path / "t.csv", "--shots", 4, "--set", "data.unit_column=patient")
    assert code == 0
    assert "some names of a patient differ only in case" in told
    assert "1: '7' and '007'" in told
    assert "that a spreadsheet shortened: 1: 1.2E+11" in told


def test_masks_and_copies_by_name_are_told_until_a_map_joins_them(check, folder, tmp_path):
    save(folder / "cut" / "0_mask.png", 91)
    save(folder / "good" / "0 (1).png", 92)
    code, told = check(folder, "--shots", 5)
    assert code == 0
    assert "named after others: 2: cut/0.png and cut/0_mask.png, good/0.png and good/0 (1).png. Each" in told
    joined = {"cut/0_mask.png": "cut/0.png", "good/0 (1).png": "good/0.png"}
    units = write_map(tmp_path / "u.csv", folder, lambda name: joined.get(name, name))
    assert "named after" not in check(folder, "--shots", 4, "--unit-map", units)[1]


def test_folders_of_truth_beside_splits_or_in_classes_are_no_patients(check, tmp_path):
    split = tree(
        tmp_path / "mvtec", "train/good", "test/broken", "test/good", "ground_truth/broken", images=2
    )
    told = check(split, "--shots", 2)[1]
    assert f"contains splits with class folders: give --private {split}/train --test {split}/test" in told
    assert "ground_truth beside them" in told
    assert "patient" not in told
    for folder in ("train/good", "ground_truth/broken"):
        tree(tmp_path / "all" / "bottle", folder, images=1)
        tree(tmp_path / "all" / "cable", folder, images=1)
    told = check(tmp_path / "all", "--shots", 2)[1]
    assert (
        f"contains splits, such as bottle/ground_truth: give one of these folders, {tmp_path}/all/bottle"
        in told
    )
    assert "patient" not in told
    tested = tree(tmp_path / "tested", "test/broken", "test/good", "ground_truth/broken", images=2)
    told = check(tested, "--shots", 2)[1]
    assert f"are one level deeper: give {tested}/test; the folder ground_truth beside them" in told
    assert "patient" not in told
    inner = tree(tmp_path / "covid", "ill/images", "ill/masks", "well/images", "well/masks", images=2)
    told = check(inner, "--shots", 2)[1]
    assert "such as ill/images: move their images up, and move the folder 'masks' elsewhere" in told
    assert "patient" not in told


def test_no_unit_map_of_texts_is_offered_that_was_not_written(tmp_path, command):
    (tmp_path / "t.csv").write_text("text,label\na,b\nc,d\n")
    told = command("check", tmp_path / "t.csv", "--write-unit-map", tmp_path / "units.csv")
    assert (told.code, told.out) == (2, "")
    assert "--write-unit-map is for images" in told.said


def test_faults_of_texts_are_all_told_at_once(check, tmp_path):
    good = "".join(f"text {number} of a,a\n" for number in range(4))
    (tmp_path / "t.csv").write_text(f"text,label\n{good}of b,b\n,b\n1, 2,b\nof b,b\n")
    code, told = check(tmp_path / "t.csv", "--shots", 4, "--set", "data.window=1,2", "--unit-map", "u.csv")
    assert code == 3
    for fault in (
        *(
            "row 6 has no text",
            "row 7 has more cells than the first line",
            "row 8 has the same text as row 5",
        ),
        *("fits --shots 4 not known until the other problems are fixed", "texts 6"),
        "data.window is about images, and this API writes texts: leave it out",
        "--unit-map is about images, and this API writes texts: leave it out",
    ):
        assert fault in told
    assert "next:" not in told
