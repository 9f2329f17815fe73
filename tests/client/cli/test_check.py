"""``pcevolve check``: what it says of a private folder, and by which exit code."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shlex import quote

import numpy as np
import pytest
from PIL import Image

from pcevolve.cli.main import main
from pcevolve.config.config import RunConfig
from pcevolve.errors import DataError
from pcevolve.modality.images import files
from pcevolve.private import inspection
from pcevolve.private.listing import listed
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


def test_what_belongs_to_one_unit_may_look_the_same(check, folder, tmp_path):
    Image.open(folder / "good" / "1.png").resize((24, 24)).save(folder / "good" / "small.png")
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))
    units = {"good/small.png": "good/1.png"}
    lines = ["file,patient", *(f"{name},{units.get(name, name)}" for name in names)]
    (tmp_path / "units.csv").write_text("\n".join(lines))
    code, printed = check(folder, "--shots", 4, "--unit-map", tmp_path / "units.csv")
    assert code == 0
    assert "to know" not in printed
    assert "cut 4, good 4" in squeezed(printed)


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


def test_without_classes_all_images_count_as_one(check, folder):
    code, printed = check(folder, "--set", "data.unlabelled=true", "--shots", 8)
    assert code == 0
    assert f"--private {folder} --shots 8 --set data.unlabelled=true --domain WORDS" in printed
    assert "images 8" in squeezed(printed)


def test_json_says_the_same(check, folder):
    code, printed = check(folder, "--json", "--shots", 4)
    found = json.loads(printed)
    assert (code, found["fit"], found["faults"]) == (0, True, [])
    assert found["found"]["images"] == "8: 8 PNG"


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


def test_a_window_is_taken_and_handed_on(check, folder):
    in_16_bits(folder, 32768)
    code, printed = check(folder, "--shots", 4, "--set", "data.window=32608,33008.0")
    assert code == 0
    assert "values, and how they are shown 8 by data.window: 31768 to 32828" in squeezed(printed)
    assert "--shots 4 --set data.window=32608,33008 --domain WORDS" in printed


def test_a_window_may_begin_below_0(check, folder):
    for given in (("--set", "data.window=-160,240"), ("--set=data.window=-160,240",)):
        code, printed = check(folder, "--shots", 4, *given)
        assert code == 3
        assert "is a colour image, and data.window is for grey values: leave it out" in printed


@pytest.mark.parametrize("window", ["240,-160", "5,5", "nan,1", "0,inf", "5", "a,b", "1,2,3"])
def test_a_window_that_is_none_is_refused_by_its_option(folder, capsys, window):
    with pytest.raises(SystemExit) as ended:
        main(["check", str(folder), f"--set=data.window={window}"])
    assert ended.value.code == 2
    assert "data.window: " in capsys.readouterr().err


def test_a_window_that_shows_nothing_is_refused_for_the_whole_folder(check, folder):
    in_16_bits(folder, 32768)
    code, printed = check(folder, "--shots", 4, "--set", "data.window=0,100")
    assert code == 3
    assert "all images together have next to no contrast: say which of their values are" in printed
    assert "with another --set data.window=LOW,HIGH" in printed


def test_a_window_is_refused_where_some_images_have_8_bits_and_others_more(check, folder):
    in_16_bits(folder, 1024)
    values = np.random.default_rng(1).integers(0, 256, (48, 48), np.uint8)
    Image.fromarray(values).save(folder / "cut" / "0.png")
    code, printed = check(folder, "--shots", 4, "--set", "data.window=0,2000")
    assert code == 3
    assert "some images have 8 bits and others more, and data.window is in a file's own units" in squeezed(
        printed
    )


def test_one_image_with_contrast_does_not_hide_a_window_that_shows_nothing_of_the_others(check, folder):
    in_16_bits(folder, 32768)
    Image.fromarray(np.tile(np.arange(48, dtype=np.uint16) * 900, (48, 1))).save(folder / "cut" / "0.png")
    code, printed = check(folder, "--shots", 4, "--set", "data.window=0,20000")
    assert code == 3
    assert "7 of 8 images have next to no contrast: say which of their values are" in squeezed(printed)


def test_flat_images_among_others_are_told_and_not_refused(check, folder):
    noise = np.random.default_rng(1).integers(200, 205, (48, 48), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "cut" / "0.png")
    code, printed = check()
    assert code == 0
    assert "to know: show next to nothing, black, white or one grey: 1: cut/0.png" in printed


def test_a_large_folder_is_read_image_by_image(folder, monkeypatch):
    alive: list[int] = []
    honest = files.examine

    class Counted(Image.Image):
        """Tells how many of its kind there are."""

        def __del__(self) -> None:
            alive.pop()

    def counting(path: Path, window: tuple[float, float] | None):
        found = honest(path, window)
        alive.append(1)
        assert len(alive) <= 2
        made = Counted()
        made.__setstate__(found.image.__getstate__())
        return replace(found, image=made)

    monkeypatch.setattr(inspection, "examine", counting)
    listing = inspection.Listing(
        folder, ("cut", "good"), tuple(sorted(folder.rglob("*.png"))), (0, 0, 0, 0, 1, 1, 1, 1)
    )
    found = inspection.inspected(listing, [str(place) for place in range(8)], lambda: None)
    assert len(found.sizes) == 8


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


@pytest.mark.parametrize(
    ("folders", "private", "test"),
    [
        (("train/a", "train/b", "test/a", "test/b"), "train", "test"),
        (("Train/a", "Train/b", "VAL/a", "VAL/b"), "Train", "VAL"),
        (("training/a", "training/b", "validation/a", "validation/b"), "training", "validation"),
        (("train/a", "train/b", "valid/a", "valid/b", "test/a", "test/b"), "train", "test"),
        (("outer/train/a", "outer/train/b", "outer/test/a", "outer/test/b"), "outer/train", "outer/test"),
        (("training_set/a", "training_set/b", "test_set/a", "test_set/b"), "training_set", "test_set"),
        (("Train Images/a", "Train Images/b", "val2017/a", "val2017/b"), "Train Images", "val2017"),
        (("trainset/a", "trainset/b", "testdata/a", "testdata/b"), "trainset", "testdata"),
        (("train/a", "train/b"), "train", None),
        (("data/a", "data/b"), "data", None),
        (("x/data/a", "x/data/b"), "x/data", None),
    ],
)
def test_class_folders_that_lie_deeper_are_named_with_the_options_that_lead_there(
    check, tmp_path, folders, private, test
):
    root = tree(tmp_path / "d", *numbered(*folders))
    (root / "README.md").write_text("about this dataset")
    code, printed = check(root, "--shots", 4)
    assert code == 3
    given = f"give --private {quote(str(root / private))}" + (f" --test {root / test}" if test else "")
    assert printed.count("to mend: ") == 1
    assert f"{given}\n" in printed
    assert "classes 2: a, b" in squeezed(printed)
    assert "fits --shots 4 yes" in squeezed(printed)
    assert check(root / private, "--shots", 4)[0] == 0


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
        listed(root, None)
    assert listed(root, None, nested=True).names == tuple(sorted(names))


def test_patients_around_classes_are_to_be_turned_round(check, tmp_path):
    root = tree(tmp_path / "d", *numbered(*(f"p{patient}/{label}" for patient in range(5) for label in "ab")))
    code, printed = check(root)
    assert code == 3
    assert "a run needs them the other way round, as CLASS/PATIENT/image" in printed


def test_images_without_class_folders_are_looked_at_and_may_be_one_class(check, tmp_path):
    root = tree(tmp_path / "d", *[f"{number}.png" for number in range(4)])
    (root / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    code, printed = check(root, "--shots", 4)
    assert code == 3
    assert "or take them as one class by --set data.unlabelled=true" in printed
    assert "torn.png is damaged" in printed
    (root / "torn.png").unlink()
    assert check(root, "--shots", 4, "--set", "data.unlabelled=true")[0] == 0


def stray_image(root: Path) -> None:
    save(root / "lost.png", 7)


def stray_photograph(root: Path) -> None:
    save(root / "x.png", 7).rename(root / "photo")


def empty_class(root: Path) -> None:
    (root / "void").mkdir()


def odd_label(root: Path) -> None:
    save(root / "what?" / "0.png", 8)


def twice_but_for_case(root: Path) -> None:
    save(root / "CUT" / "0.png", 9)


def loop(root: Path) -> None:
    (root / "cut" / "round").symlink_to(root)


def pipe(root: Path) -> None:
    os.mkfifo(root / "cut" / "pipe.png")


def dangling(root: Path) -> None:
    (root / "cut" / "gone.png").symlink_to("nowhere")


def zero_bytes(root: Path) -> None:
    (root / "cut" / "zero.jpg").write_bytes(b"")


def web_page(root: Path) -> None:
    (root / "cut" / "page.jpg").write_text("<html>not found</html>")


def volume(root: Path) -> None:
    (root / "cut" / "scan.nii").write_bytes(b"\0")


def one_pixel(root: Path) -> None:
    Image.new("RGB", (1, 1)).save(root / "cut" / "one.png")


def strip(root: Path) -> None:
    Image.effect_noise((5000, 30), 90).save(root / "cut" / "strip.png")


def film(root: Path) -> None:
    Image.new("L", (9, 9)).save(
        root / "cut" / "film.gif", save_all=True, append_images=[Image.new("L", (9, 9), 99)]
    )


FAULTS = {
    stray_image: "lost.png lies outside the class folders",
    stray_photograph: "photo lies outside the class folders",
    empty_class: "class 'void' is empty",
    odd_label: "class name 'what?' cannot be used as a label",
    twice_but_for_case: "class names 'CUT' and 'cut' are the same name on some machines",
    loop: "cut/round is a folder: move its images up",
    pipe: "cut/pipe.png is not a regular file",
    dangling: "cut/gone.png is not a regular file",
    zero_bytes: "cut/zero.jpg is empty (0 bytes)",
    web_page: "cut/page.jpg is a web page under the name of an image",
    volume: "cut/scan.nii is a volume",
    one_pixel: "cut/one.png has 1x1 pixels",
    strip: "cut/strip.png has 5000x30 pixels",
    film: "cut/film.gif holds 2 pages or frames",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_hides_the_findings_of_the_others(check, folder, fault):
    """A twin is in every folder, and is told whatever else is wrong."""
    Image.open(folder / "cut" / "0.png").save(folder / "good" / "twin.bmp")
    fault(folder)
    code, printed = check()
    assert code == 3
    assert FAULTS[fault] in printed
    assert "good/twin.bmp has the pixels of cut/0.png" in printed
    assert "cut 4" in squeezed(printed) or "cut 5" in squeezed(printed)


def test_all_faults_at_once_are_all_told(check, folder):
    for fault in FAULTS:
        fault(folder)
    printed = check()[1]
    assert [told for told in FAULTS.values() if told not in printed] == []


@pytest.mark.parametrize(("cut", "good"), list(itertools.product((0, 1, 2, 3, 5), (1, 2, 3, 7))))
@pytest.mark.parametrize("said", [1, 2, 4, 10])
def test_what_check_offers_is_taken_and_mends_it(check, tmp_path, cut, good, said):
    root = tree(tmp_path / "d", *numbered("cut", images=cut), *numbered("good", images=good))
    (root / "cut").mkdir(exist_ok=True)
    printed = check(root, "--shots", said)[1]
    for offered in re.findall(r"'(--[^:']*)[:']", printed):
        settings = offered_options(offered)
        RunConfig.of({"private": str(root), "domain": "x", "out": tmp_path / "r", **settings})
        if "class_counts" not in settings and cut:
            assert check(root, *offered.split())[0] == 0, offered
    assert not re.search(r"(--shots |data\.subsample=)0\b", printed)


def offered_options(offered: str) -> dict[str, object]:
    """Options as settings are given them."""
    found: dict[str, object] = {}
    for option in offered.split("--")[1:]:
        name, _, value = option.strip().removeprefix("set ").replace("=", " ").partition(" ")
        found[name.rpartition(".")[2]] = value
    return found


def test_a_subsample_of_more_than_there_are_is_a_fault_with_the_largest_that_goes(check, folder):
    code, printed = check(folder, "--set", "data.subsample=9")
    assert code == 3
    assert "data.subsample draws 9 of each: give '--set data.subsample=4' or fewer" in printed
    code, printed = check(folder, "--set", "data.subsample=4")
    assert code == 0
    assert f"next: pcevolve run --private {folder} --set data.subsample=4 --domain WORDS" in printed


@pytest.mark.parametrize("name", ["photo.jfif", "photo.JPG_large", "photo.jpe", "IM0001"])
def test_an_image_without_a_usual_suffix_is_one_of_the_class(check, folder, name):
    buffer = io.BytesIO()
    Image.effect_noise((48, 48), 90).save(buffer, "JPEG")
    (folder / "cut" / name).write_bytes(buffer.getvalue())
    code, printed = check(folder, "--shots", 4)
    assert code == 0
    assert "cut 5, good 4" in squeezed(printed)
    assert "images 9: 1 JPEG, 8 PNG" in squeezed(printed)


def test_what_systems_leave_in_folders_is_no_image(check, folder):
    for name in (
        "cut/._0.png",
        "cut/.DS_Store",
        "good/Thumbs.db",
        "good/desktop.ini",
        "__MACOSX/cut/._0.png",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"\0\x05\x16\x07")
    assert check(folder, "--shots", 4)[0] == 0


def test_what_comes_next_can_be_typed_as_it_stands(check, folder, tmp_path):
    folder.rename(tmp_path / "my data")
    assert (
        f"next: pcevolve run --private '{tmp_path}/my data' --shots 4 "
        in check(tmp_path / "my data", "--shots", 4)[1]
    )
    rows = [f"text {number} of {label},{label}" for number in range(4) for label in "ab"]
    (tmp_path / "t.csv").write_text("\n".join(["text,label", *rows]))
    code, printed = check(tmp_path / "t.csv", "--shots", 4)
    assert code == 0
    assert f"next: pcevolve run --private {tmp_path}/t.csv --dialect chat --shots 4 --domain" in printed


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


@pytest.mark.parametrize("label", ["[/x]", "[red]x", "\x1b[2Jx", "\ud800x", "a\nb"])
def test_names_are_shown_and_command_nothing(check, tmp_path, label):
    rows = [
        {"text": f"words {number} {label == each}", "label": each}
        for each in ("b", label)
        for number in range(4)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    code, printed = check(tmp_path / "t.jsonl", "--shots", 4)
    assert code == (0 if label == "[red]x" else 3)
    assert not set(printed) & set("\x1b\ud800")
    assert label.translate({0x1B: " ", 0xD800: " ", 10: " "}).strip().split()[0] in squeezed(printed)


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
