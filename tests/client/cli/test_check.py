"""``pcevolve check``: what it says of a private folder, and by which exit code."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.cli.main import main
from pcevolve.errors import DataError
from pcevolve.private import inspection
from pcevolve.private.listing import list_folder
from pcevolve.session.first.pricing import outlook


def save(path: Path, seed: int, side: int = 48) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    coarse = np.random.default_rng(seed).integers(0, 256, (7, 7, 3), dtype=np.uint8)
    Image.fromarray(coarse).resize((side, side)).save(path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of four images each."""
    for place, label in enumerate(("cut", "good")):
        for number in range(4):
            save(tmp_path / "data" / label / f"{number}.png", 10 * place + number)
    return tmp_path / "data"


@pytest.fixture
def check(folder, capsys, monkeypatch) -> Callable[..., tuple[int, str]]:
    """Exit code of the command, and what it printed, in one line."""
    monkeypatch.setenv("COLUMNS", "80")

    def command(*arguments: object) -> tuple[int, str]:
        capsys.readouterr()
        code = 0
        try:
            main(["check", *map(str, arguments or (folder, "--shots", 4))])
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr().out
        assert all(len(line) <= 80 for line in printed.splitlines() if line.startswith(("┃", "│", "┏", "└")))
        return code, printed

    return command


def squeezed(printed: str) -> str:
    """Without the lines and folds of the table."""
    return " ".join(re.sub("[│┃]", " ", printed).split())


def test_a_folder_that_a_run_would_take_is_told_so_with_the_next_command(check, folder):
    code, printed = check()
    assert code == 0
    told = squeezed(printed)
    assert "classes 2: cut, good" in told
    assert "cut 4, good 4" in told
    assert "images 8: 8 PNG" in told
    assert "sizes all 48x48" in told
    assert "fits --shots 4 yes would be refused nothing" in told
    assert (
        "Nothing was sent and nothing was spent. The counts above are private: they stay on this machine."
        in printed
    )
    assert f"next: pcevolve run --private {folder} --shots 4 --domain WORDS --out RUN" in printed


def test_an_outlook_never_gets_worse_with_more_images_or_a_larger_budget(check):
    assert "Classes that noise leaves to be told apart" in check()[1]
    order = ["none", "unlike ones", "most", "alike ones too"]
    rows = [[order.index(cell) for cell in row[1:]] for row in outlook(classes=4, shots=10)]
    assert rows[0][0] == 0, "ten images at epsilon 1 are noise"
    assert rows[-1] == [3, 3, 3], "a hundred are not"
    assert all(row == sorted(row) for row in rows)
    assert all(list(column) == sorted(column) for column in zip(*rows, strict=True))


def test_nothing_is_sent_and_no_ledger_is_made(check, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def refused(*_: object) -> None:
        raise AssertionError("a socket")

    monkeypatch.setattr(socket, "socket", refused)
    assert check()[0] == 0
    assert not (tmp_path / "state").exists()


def test_all_that_would_be_refused_is_told_with_what_mends_it(check, folder):
    (folder / "cut" / "photo.heic").write_bytes(b"x")
    (folder / "good" / "torn.jpg").write_bytes(b"\xff\xd8\xff")
    (folder / "good" / "copy.bmp").write_bytes(b"")
    Image.open(folder / "cut" / "0.png").save(folder / "good" / "copy.bmp")
    (folder / "void").mkdir()
    (folder / "cut" / "notes.txt").write_text("seen on Monday")
    code, printed = check()
    assert code == 3
    for fault in (
        "cut/photo.heic is HEIC: convert it, such as by heif-convert photo.heic photo.png",
        "good/torn.jpg is damaged or not an image; replace or remove it",
        "good/copy.bmp has the pixels of cut/0.png, in another class: remove one",
        "class 'void' is empty: add images to",
    ):
        assert f"to mend: {fault}" in printed
    told = squeezed(printed)
    assert "passed over 1: cut/notes.txt" in told
    assert "same pixels twice 1: cut/0.png = good/copy.bmp" in told
    assert "next:" not in printed


def test_copies_that_look_the_same_are_told_and_are_no_fault(check, folder):
    buffer = io.BytesIO()
    Image.open(folder / "cut" / "0.png").save(buffer, "JPEG", quality=60)
    (folder / "good" / "again.jpg").write_bytes(buffer.getvalue())
    Image.open(folder / "good" / "1.png").resize((32, 32)).save(folder / "good" / "small.png")
    code, printed = check(folder, "--shots", 5)
    assert code == 0
    assert (
        "to know: 1 pairs look the same and are in different classes (cut/0.png = good/again.jpg)" in printed
    )
    assert "to know: 1 pairs of one class look the same and count as two units" in printed


def test_a_unit_map_that_does_not_fit_is_a_fault(check, folder, tmp_path):
    (tmp_path / "units.csv").write_text("file,patient\ncut/0.png,p\n")
    code, printed = check(folder, "--shots", 4, "--unit-map", tmp_path / "units.csv")
    assert code == 3
    assert "units.csv does not list cut/1.png" in printed


def test_shots_that_do_not_fit_are_a_fault_with_offers(check, folder):
    code, printed = check(folder)
    assert code == 3
    told = squeezed(printed)
    assert "fits --shots 10 NO" in told
    assert (
        "the classes hold 4 units each, and --shots says 10: give one of '--shots 4: use all of them" in told
    )
    assert check(folder, "--shots", 3)[0] == 0


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere", "nowhere: no such folder"),
        ("data/cut", "has no class folders: put the images into one subfolder"),
    ],
)
def test_a_folder_that_is_none_is_told_in_a_line(check, tmp_path, name, told):
    code, printed = check(tmp_path / name)
    assert code == 3
    assert told in printed


def in_16_bits(folder: Path, offset: int) -> None:
    """Hounsfield units of -1000 to 60, and another number added to them, in place of every image."""
    for place, path in enumerate(sorted(folder.rglob("*.png"))):
        values = np.random.default_rng(place).integers(-1000, 60, (48, 48))
        values[0] = np.tile([-1000, 60], 24)
        Image.fromarray((values + offset).astype(np.uint16)).save(path)


def test_values_without_contrast_are_told_with_their_range_and_the_way_out(check, folder):
    in_16_bits(folder, 32768)
    code, printed = check()
    told = squeezed(printed)
    assert code == 3
    assert "values, and how they are shown 8 refused: 31768 to 32828" in told
    assert "cut/0.png has next to no contrast in the whole range of its 16 bits: say which" in told
    assert "data.window becomes part of the public plan: choose LOW,HIGH by what the modality shows" in told
    assert "and not by these images" in told


def test_a_window_may_begin_below_0(check, folder):
    for given in (("--set", "data.window=-160,240"), ("--set=data.window=-160,240",)):
        code, printed = check(folder, "--shots", 4, *given)
        assert code == 3
        assert "is a colour image, and data.window is for grey values: leave it out" in printed


def test_very_large_folders_are_not_compared_and_say_so(check, monkeypatch):
    monkeypatch.setattr(inspection, "MOST_COMPARED", 3)
    assert "not looked for in more than" in squeezed(check()[1])


def tree(root: Path, *paths: str) -> Path:
    """A folder of images, each unlike every other."""
    for seed, path in enumerate(paths):
        save(root / path, 1000 + seed)
    return root


def numbered(*folders: str, images: int = 4) -> list[str]:
    return [f"{folder}/{number}.png" for folder in folders for number in range(images)]


def test_folders_of_patients_are_counted_as_patients_and_answered_with_a_map(check, tmp_path):
    names = numbered(*(f"{label}/{label}{patient}" for label in "ab" for patient in range(3)), images=2)
    root, units = tree(tmp_path / "d", *names), tmp_path / "units.csv"
    code, printed = check(root, "--shots", 3)
    assert code == 3
    assert "with the lines 'file,patient' and, for each image, such as 'a/a0/0.png,a0'" in printed
    assert f"pcevolve check {root} --write-unit-map FILE" in printed
    assert "units per class (one patient each) a 3, b 3" in squeezed(printed)
    assert "fits --shots 3 yes" in squeezed(printed)
    check(root, "--shots", 3, "--write-unit-map", units)
    with units.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[:2] == [["file", "patient"], ["a/a0/0.png", "a0"]]
    assert len(rows) == 13
    code, printed = check(root, "--shots", 3, "--unit-map", units)
    assert code == 0
    assert f"next: pcevolve run --private {root} --shots 3 --unit-map {units} --domain WORDS" in printed


def test_a_run_reads_folders_of_patients_with_their_map_and_refuses_them_without(tmp_path):
    names = numbered(*(f"{label}/p{patient}" for label in "ab" for patient in range(3)), images=2)
    root = tree(tmp_path / "d", *names)
    with pytest.raises(DataError, match="the class folders hold folders, such as a/p0"):
        list_folder(root, None)
    assert list_folder(root, None, nested=True).names == tuple(sorted(names))


def test_a_subsample_of_more_than_there_are_is_a_fault_with_the_largest_that_goes(check, folder):
    code, printed = check(folder, "--set", "data.subsample=9")
    assert code == 3
    assert "data.subsample draws 9 of each: give '--set data.subsample=4' or fewer" in printed
    code, printed = check(folder, "--set", "data.subsample=4")
    assert code == 0
    assert f"next: pcevolve run --private {folder} --set data.subsample=4 --domain WORDS" in printed


def test_a_window_says_nothing_about_texts(check, tmp_path):
    rows = [f"text {number} of {label},{label}" for number in range(4) for label in "ab"]
    (tmp_path / "t.csv").write_text("\n".join(["text,label", *rows]))
    code, printed = check(tmp_path / "t.csv", "--shots", 4, "--set", "data.window=1,2")
    assert code == 3
    assert (
        "to mend: data.window says what is black and white in images, and these are texts: leave it out"
        in printed
    )
    assert "next:" not in printed


def test_faults_of_texts_are_all_told_at_once(check, tmp_path):
    rows = [
        "text,label",
        *(f"text {number} of a,a" for number in range(4)),
        "of b,b",
        ",b",
        "one, two,b",
        "of b,b",
    ]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    code, printed = check(tmp_path / "t.csv", "--shots", 4)
    assert code == 3
    for told in (
        "row 6 has no text",
        "row 7 has more cells than the first line",
        "row 8 has the text of row 5",
        "the classes hold 2 (b) to 4 (a) units each",
    ):
        assert told in printed
    assert "texts 6" in squeezed(printed)


def test_json_says_the_same(check, folder):
    code, printed = check(folder, "--json", "--shots", 4)
    found = json.loads(printed)
    assert (code, found["fit"], found["faults"]) == (0, True, [])
    assert found["found"]["images"] == "8: 8 PNG"
