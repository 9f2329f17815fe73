"""Loading a folder of class folders: what comes out, and one clear line for each thing that is wrong."""

import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.errors import DataError
from pcevolve.keeper.ledger.units import PrivateUnit
from pcevolve.keeper.private.dataset import PrivateDataset, StoredImages, load, load_folder
from pcevolve.keeper.private.listing import list_folder

NAMES = ("bad/a.png", "bad/b.png", "good/a.png", "good/b.png")


def save(path: Path, values: np.ndarray | int) -> Path:
    """Save values, or an image that a number makes unlike the others."""
    if isinstance(values, int):
        values = np.random.default_rng(values).integers(0, 256, (10, 12, 3), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(values).save(path)
    return path


def grey(place: int, low: int, high: int, kind: type) -> np.ndarray:
    return np.random.default_rng(place).integers(low, high, (10, 12)).astype(kind)


@pytest.fixture
def folder(tmp_path):
    """Two classes of two PNG images each."""
    for shade, name in enumerate(NAMES):
        save(tmp_path / "data" / name, shade)
    return tmp_path / "data"


def test_several_training_folders_are_all_named(tmp_path):
    for split in ("Train1", "Train2", "Test"):
        for label in ("bad", "good"):
            save(tmp_path / split / label / "a.png", len(split) + len(label))
    with pytest.raises(DataError, match=r"class folders of Train1(,| and) Train2"):
        load_folder(tmp_path)


def test_labels_are_sorted_and_the_order_comes_from_names_and_not_from_the_file_system(folder, tmp_path):
    dataset = load_folder(folder)
    assert (dataset.labels, dataset.names) == (("bad", "good"), NAMES)
    assert dataset.targets.tolist() == [0, 0, 1, 1]
    assert dataset.indices_of("good").tolist() == [2, 3]
    for shade in reversed(range(4)):
        save(tmp_path / "copy" / NAMES[shade], shade)
    assert load_folder(tmp_path / "copy").digests == dataset.digests


@pytest.mark.parametrize("name", ["@eaDir", "#recycle", "$RECYCLE.BIN", "__MACOSX", "lost+found"])
def test_what_systems_put_into_folders_is_no_class_of_its_own(folder, name):
    save(folder / name / "thumb.png", 50)
    save(folder / "good" / name / "thumb.png", 51)
    assert load_folder(folder).names == NAMES


def _cut(folder: Path) -> None:
    file = folder / "good" / "cut.jpg"
    Image.fromarray(np.random.default_rng(9).integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(file)
    file.write_bytes(file.read_bytes()[:-400])


def _huge(folder: Path) -> None:
    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    (folder / "good" / "huge.png").write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
            for kind, body in parts
        )
    )


def _fat(folder: Path) -> None:
    with (folder / "good" / "fat.png").open("wb") as file:
        os.truncate(file.fileno(), 256 * 1024**2 + 1)


def _pages(folder: Path) -> None:
    page = Image.new("RGB", (8, 8), "red")
    page.save(folder / "good" / "one.tif")  # a single page is an image
    page.save(folder / "good" / "pages.tif", save_all=True, append_images=[Image.new("RGB", (8, 8), "blue")])


REFUSED: dict[str, Callable[[Path], object]] = {
    r"lost\.png is outside the class folders": lambda folder: save(folder / "lost.png", 9),
    r"class 'void' is empty: add images to .* or remove it": lambda folder: (folder / "void").mkdir(),
    r"class name 'o\\nd' cannot be used as a label": lambda folder: save(folder / "o\nd" / "a.png", 9),
    r"good/cut\.jpg is damaged or not an image; replace or remove it": _cut,
    r"bad/more is a folder inside a class folder: give the folder that": lambda folder: (
        folder / "bad" / "more"
    ).mkdir(),
    r"good/photo\.heic is HEIC: convert": lambda folder: (folder / "good" / "photo.heic").write_bytes(b"x"),
    r"good/pipe is not a PNG, JPEG": lambda folder: os.mkfifo(folder / "good" / "pipe"),
    r"good/pipe\.png is not a regular": lambda folder: os.mkfifo(folder / "good" / "pipe.png"),
    r"good/gone\.png is not a regular": lambda folder: (folder / "good" / "gone.png").symlink_to("nowhere"),
    r"good/huge\.png has more than 64,000,000 pixels; scale it down": _huge,
    r"good/fat\.png is larger than 256 MiB": _fat,
    r"data: good/pages\.tif holds 2 pages or frames; save each that matters as its own file$": _pages,
    r"good/b2\.png has the same pixels as good/b\.png; remove one": lambda folder: save(
        folder / "good/b2.png", 3
    ),
    r"bad/c\.bmp has the same pixels as bad/a\.png; remove one": lambda folder: save(folder / "bad/c.bmp", 0),
}


@pytest.mark.parametrize("complaint", REFUSED)
def test_what_is_wrong_is_named_and_nothing_is_waited_for(folder, complaint):
    REFUSED[complaint](folder)
    with pytest.raises(DataError, match=complaint):
        load_folder(folder)
    if "has the same pixels" in complaint:
        assert len(load_folder(folder, unique=False)) == 5


def test_single_class_is_refused(tmp_path):
    save(tmp_path / "only" / "a.png", 1)
    with pytest.raises(DataError, match="only one class, 'only': add another class"):
        load_folder(tmp_path)


def test_notes_beside_the_images_of_a_class_are_passed_over_and_named(folder):
    for name in ("good/notes.txt", "bad/README"):
        (folder / name).write_text("seen on Monday")
    listing = list_folder(folder)
    assert [each.name for each in listing.skipped] == ["README", "notes.txt"]
    assert load(listing).names == NAMES


def test_all_bad_files_are_listed_up_to_five(folder):
    for index in range(7):
        (folder / "good" / f"x{index}.png").write_bytes(b"no image")
    with pytest.raises(
        DataError, match=r"x0\.png is named like.*x4\.png is named like.*; and 2 more$"
    ) as caught:
        load_folder(folder)
    assert "x5" not in str(caught.value)
    assert "\n" not in str(caught.value)


def same_pixels(stored: StoredImages, kept: tuple[Image.Image, ...]) -> bool:
    return [each.tobytes() for each in stored] == [each.tobytes() for each in kept]


def test_images_that_do_not_fit_in_memory_are_read_again_and_are_the_same(folder):
    kept, stored = load(list_folder(folder)), load(list_folder(folder), keep=3 * 12 * 10)
    assert isinstance(kept.items, tuple)
    assert isinstance(stored.items, StoredImages)
    assert stored.digests == kept.digests
    assert same_pixels(stored.items, kept.items)
    assert same_pixels(stored.subset([3, 1]).items, (kept.items[3], kept.items[1]))


@pytest.mark.parametrize("change", [lambda file: file.unlink(), lambda file: save(file, 99)])
def test_a_file_that_changes_under_a_run_is_refused_by_name(folder, change):
    stored = load(list_folder(folder), keep=0)
    change(folder / "good" / "a.png")
    with pytest.raises(
        DataError, match=r"good/a\.png changed or disappeared while they were read: run again"
    ):
        list(stored.items)


def test_a_window_shows_all_files_alike_and_whenever_they_are_read(tmp_path):
    for place, name in enumerate(NAMES):
        save(tmp_path / name, grey(place, 31768, 32828, np.uint16))
    listing = list_folder(tmp_path)
    with pytest.raises(DataError, match=r"a\.png has next to no contrast .* data.window=LOW,HIGH; bad/b"):
        load(listing)
    kept, stored = (load(listing, keep=keep, window=(31768.0, 32828.0)) for keep in (10**9, 0))
    assert same_pixels(stored.items, kept.items)
    assert same_pixels(stored.subset([2]).items, kept.items[2:3])
    assert min(high - low for low, high in (each.getextrema()[0] for each in stored.items)) > 200


def test_a_folder_of_one_grey_is_refused_and_one_of_plain_colours_is_not(tmp_path):
    for place, name in enumerate(NAMES):
        save(tmp_path / "grey" / name, grey(place, 124, 129, np.uint8))
        save(tmp_path / "plain" / name, np.full((10, 12, 3), (place, 0, 0), np.uint8))
    with pytest.raises(DataError, match="data: all images together have next to no contrast: say which"):
        load_folder(tmp_path / "grey")
    assert len(load_folder(tmp_path / "plain")) == 4


OF_TWO = PrivateDataset(
    *(("a", "b"), ("x", "y", "z"), np.array([0, 1, 1]), (b"1", b"2", b"3"), np.array([0, 1, 0]), "patient"),
    unit_names=("p", "q"),
    names=("row 1", "row 2", "row 3"),
    marks=(("Jane",), ("",), ("John",)),
)


def test_a_part_of_a_dataset_keeps_whose_its_items_are_and_what_is_secret_in_them():
    part = OF_TWO.subset([2, 0])
    assert (part.items, part.targets.tolist(), part.unit_name) == (("z", "x"), [1, 0], "patient")
    assert part.privacy_units() == (PrivateUnit((b"3", b"1"), "p"),)
    assert (part.names, part.marks) == (("row 3", "row 1"), (("John",), ("Jane",)))


def test_classes_take_new_names_in_any_order():
    renamed = OF_TWO.rename({"b": "second", "a": "first"})
    assert [renamed.labels[target] for target in renamed.targets] == ["first", "second", "second"]


DIGESTS = tuple(bytes([number]) * 32 for number in range(4))


def describe(
    targets=(0, 0, 1, 1), units=(0, 0, 1, 2), names=("p", "q", "r"), marks=(), order=(0, 1, 2, 3)
) -> bytes:
    """Digest of four texts, in some order."""
    return PrivateDataset(
        ("cut", "good"),
        tuple("abcd"[at] for at in order),
        np.array([targets[at] for at in order]),
        tuple(DIGESTS[at] for at in order),
        unit_of=np.array([units[at] for at in order]),
        unit_name="patient",
        unit_names=names,
        marks=tuple(marks[at] for at in order) if marks else (),
    ).compute_digest()


def test_the_digest_of_a_dataset_changes_with_whatever_a_selection_follows_from_and_with_nothing_else():
    same = {describe(), describe(order=(3, 1, 0, 2)), describe(units=(1, 1, 0, 2), names=("q", "p", "r"))}
    others = [
        describe(targets=(0, 1, 0, 1)),
        describe(targets=(1, 0, 1, 0)),
        describe(units=(0, 1, 0, 2)),
        describe(names=("p", "q", "s")),
        describe(marks=(("x",), ("",), ("",), ("",))),
        describe(marks=(("",), ("x",), ("",), ("",))),
    ]
    assert len(same) == 1
    assert len({*same, *others}) == 1 + len(others)
