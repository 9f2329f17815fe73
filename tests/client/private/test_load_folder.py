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
from pcevolve.private.dataset import StoredImages, load, load_folder
from pcevolve.private.listing import list_folder


def save(path: Path, shade: int, size=(12, 10), mode="RGB", **options) -> Path:
    """Save an image that ``shade`` makes unlike the others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(shade).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).convert(mode).save(path, **options)
    return path


@pytest.fixture
def folder(tmp_path):
    """Two classes of two PNG images each."""
    for shade, name in enumerate(("good/a.png", "good/b.png", "bad/a.png", "bad/b.png")):
        save(tmp_path / "data" / name, shade)
    return tmp_path / "data"


def png_header(width: int, height: int) -> bytes:
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b""))
        + chunk(b"IEND", b"")
    )


def test_labels_are_sorted_and_targets_point_at_them(folder):
    dataset = load_folder(folder)
    assert dataset.labels == ("bad", "good")
    assert dataset.targets.tolist() == [0, 0, 1, 1]
    assert len(dataset.indices_of("good")) == 2
    assert dataset.indices_of("good").tolist() == [2, 3]


def test_order_comes_from_names_and_not_from_the_file_system(folder, tmp_path):
    copy = tmp_path / "copy"
    for file in sorted(folder.rglob("*.png"), reverse=True):
        target = copy / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    assert load_folder(copy).digests == load_folder(folder).digests


def test_repr_of_private_data_is_the_class_name(folder):
    dataset = load_folder(folder)
    assert repr(dataset) == str(dataset) == f"{dataset}" == "PrivateDataset"


def _truncated(folder: Path) -> None:
    file = save(folder / "good" / "cut.jpg", 9, size=(64, 64))
    file.write_bytes(file.read_bytes()[:-400])


def _fat(folder: Path) -> None:
    with (folder / "good" / "fat.png").open("wb") as file:
        os.truncate(file.fileno(), 256 * 1024**2 + 1)


REFUSED: dict[str, Callable[[Path], object]] = {
    r"lost\.png lies outside the class folders": lambda folder: save(folder / "lost.png", 9),
    r"class 'void' is empty: add images to .* or remove it": lambda folder: (folder / "void").mkdir(),
    r"class name 'odd\\nname' cannot be used as a label": lambda folder: save(
        folder / "odd\nname" / "a.png", 9
    ),
    r"good/cut\.jpg is damaged or not an image; replace or remove it": _truncated,
    r"bad/more is a folder: move its images up": lambda folder: (folder / "bad" / "more").mkdir(),
    r"good/photo\.heic is HEIC: convert": lambda folder: (folder / "good" / "photo.heic").write_bytes(b"x"),
    r"good/pipe is not a PNG, JPEG": lambda folder: os.mkfifo(folder / "good" / "pipe"),
    r"good/pipe\.png is not a regular": lambda folder: os.mkfifo(folder / "good" / "pipe.png"),
    r"good/link\.png is not a regular": lambda folder: (folder / "good" / "link.png").symlink_to(
        "nowhere.png"
    ),
    r"good/huge\.png has more than 64,000,000 pixels; scale it down": lambda folder: (
        folder / "good" / "huge.png"
    ).write_bytes(png_header(20_000, 20_000)),
    r"good/fat\.png is larger than 256 MiB": _fat,
}


@pytest.mark.parametrize("complaint", REFUSED)
def test_what_is_wrong_is_named_and_nothing_is_waited_for(folder, complaint):
    REFUSED[complaint](folder)
    with pytest.raises(DataError, match=complaint):
        load_folder(folder)


def test_single_class_is_refused(tmp_path):
    save(tmp_path / "only" / "a.png", 1)
    with pytest.raises(DataError, match="only one class, 'only': at least two are needed"):
        load_folder(tmp_path)


def test_notes_beside_the_images_of_a_class_are_passed_over_and_named(folder):
    for name in ("good/notes.txt", "bad/README"):
        (folder / name).write_text("seen on Monday")
    listing = list_folder(folder)
    assert [each.name for each in listing.skipped] == ["README", "notes.txt"]
    assert load(listing).names == ("bad/a.png", "bad/b.png", "good/a.png", "good/b.png")


def test_multi_page_tiff_is_refused_and_a_single_page_is_not(folder):
    page = Image.new("RGB", (8, 8), "red")
    page.save(folder / "good" / "one.tif")
    assert len(load_folder(folder)) == 5
    page.save(folder / "good" / "pages.tif", save_all=True, append_images=[Image.new("RGB", (8, 8), "blue")])
    with pytest.raises(
        DataError, match=r"good/pages\.tif holds 2 pages or frames; save each that matters as its own file"
    ):
        load_folder(folder)


def test_all_bad_files_are_listed_up_to_five(folder):
    for index in range(7):
        (folder / "good" / f"x{index}.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"x0\.png is text.*x4\.png is text.*; and 2 more$") as caught:
        load_folder(folder)
    assert "x5" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_same_pixels_twice_are_refused_even_in_another_format_or_class(folder):
    save(folder / "good" / "copy.bmp", 0)
    with pytest.raises(DataError, match=r"good/copy\.bmp has the pixels of good/a\.png; remove one"):
        load_folder(folder)
    assert len(load_folder(folder, unique=False)) == 5


def test_images_that_do_not_fit_in_memory_are_read_again_and_are_the_same(folder):
    kept, stored = load(list_folder(folder)), load(list_folder(folder), keep=3 * 12 * 10)
    assert isinstance(kept.items, tuple)
    assert isinstance(stored.items, StoredImages)
    assert stored.digests == kept.digests
    assert [each.tobytes() for each in stored.items] == [each.tobytes() for each in kept.items]
    assert [each.tobytes() for each in stored.subset([3, 1]).items] == [
        kept.items[place].tobytes() for place in (3, 1)
    ]
    assert repr(stored.items) == "StoredImages"


@pytest.mark.parametrize("change", [lambda file: file.unlink(), lambda file: save(file, 99)])
def test_a_file_that_changes_under_a_run_is_refused_by_name(folder, change):
    stored = load(list_folder(folder), keep=0)
    change(folder / "good" / "a.png")
    with pytest.raises(DataError, match=r"good/a\.png changed or went away while they were read: run again"):
        list(stored.items)


def in_units(folder: Path, low: int, high: int) -> Path:
    """Class folders of 16-bit images with values between two."""
    for place, name in enumerate(("good/a", "good/b", "bad/a", "bad/b")):
        values = np.random.default_rng(place).integers(low, high, (10, 12)).astype(np.uint16)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(values).save(folder / f"{name}.png")
    return folder


def test_a_window_shows_all_files_alike_and_whenever_they_are_read(tmp_path):
    listing = list_folder(in_units(tmp_path / "data", 31768, 32828))
    with pytest.raises(
        DataError, match=r"bad/a\.png has next to no contrast .* with --set data.window=LOW,HIGH; bad/b\.png"
    ):
        load(listing)
    kept, stored = (load(listing, keep=keep, window=(31768.0, 32828.0)) for keep in (10**9, 0))
    assert [each.tobytes() for each in stored.items] == [each.tobytes() for each in kept.items]
    assert [each.tobytes() for each in stored.subset([2]).items] == [kept.items[2].tobytes()]
    assert min(each.getextrema()[0][1] - each.getextrema()[0][0] for each in stored.items) > 200


def test_a_folder_of_one_grey_is_refused_and_one_of_plain_colours_is_not(tmp_path):
    for place, name in enumerate(("good/a.png", "good/b.png", "bad/a.png", "bad/b.png")):
        path = tmp_path / "grey" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        values = np.random.default_rng(place).integers(124, 129, (10, 12)).astype(np.uint8)
        Image.fromarray(values).save(path)
        (tmp_path / "plain" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (10, 12), (place, 0, 0)).save(tmp_path / "plain" / name)
    with pytest.raises(
        DataError, match="private data: all images together have next to no contrast: say which"
    ):
        load_folder(tmp_path / "grey")
    assert len(load_folder(tmp_path / "plain")) == 4
