"""Data that a person gives to a table: public images, or scikit-learn's digits instead, and the row LE's prompts."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.config.files import read_prompts
from pcevolve.public.durable import write_durably
from pcevolve.public.media.images.decoding import DecodedImage
from pcevolve.public.media.images.files import RejectedImageError, read_image
from pcevolve_benchmarks.pixels import paint as in_colours
from pcevolve_benchmarks.pixels import with_saturation
from pcevolve_benchmarks.tables.table import LE, Table, Variant
from pcevolve_shared import images

TRAIN, TEST = "train", "test"
DIGITS = "handwritten mark"
"""Words for digits under labels that no provider understands, as in the demonstration."""
NAMES = {3: "type A", 5: "type B", 8: "type C"}
TRAINED = 90
PAPERS_DATA = (
    "COVIDx 256x256, 8,482 held out; Camelyon17 96x96, 85,054; KVASIR-f 256x256, 600; MVTec AD leather 256x256, 27; "
    "pcevolve-bench datasets makes folders of them."
)
"""What Table 5 of the PCEvolve paper lists."""


@dataclass(frozen=True)
class BenchData:
    """Images in two folders of class folders.

    Attributes:
        name: What tables call it.
        words: Public words for what the images show.
        train: Where the shots are drawn from.
        test: Held-out images.
    """

    name: str
    words: str
    train: Path
    test: Path


def read_data(text: str) -> BenchData:
    """Read ``WORDS=DIR``: a folder with ``train`` and ``test``, each with one subfolder of images per class.

    Raises:
        UsageError: There are no words.
        DataError: A folder is missing, or the two have other classes.
    """
    words, found, folder = text.partition("=")
    if not found or not words.strip() or not folder.strip():
        raise UsageError(f"--data {text}: write WORDS=DIR, as in 'chest x-ray=./covidx'")
    root = Path(folder.strip()).absolute()
    if classes(root / TRAIN) != classes(root / TEST):
        raise DataError(f"--data {text}: {TRAIN} and {TEST} must have the same class folders")
    return BenchData(words.strip(), words.strip(), root / TRAIN, root / TEST)


def digits(folder: Path, painted: bool = False) -> BenchData:
    """Scikit-learn's handwritten 3, 5 and 8, written out once: in grey, or painted on coloured paper."""
    name = "painted digits" if painted else "digits"
    root = folder / name
    if not root.is_dir():
        from pcevolve.keeper.private.bundled import load_digits  # scikit-learn takes seconds to load

        partial = root.with_name(f"{name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        for part, of_part in zip((TRAIN, TEST), load_digits(TRAINED, NAMES, seed=0), strict=True):
            _write(partial / part, of_part, in_colours if painted else lambda image: image)
        partial.rename(root)
    return BenchData(name, DIGITS, root / TRAIN, root / TEST)


def saturate(data: BenchData, factor: float, folder: Path) -> BenchData:
    """Multiply the distance of images' colours from grey; they are written out once.

    Args:
        data: As it is.
        factor: 0 for grey, 1 for the images as they are.
        folder: Where the others are written.

    Raises:
        DataError: The first image is grey, so that nothing would change; or an image is damaged.
    """
    image = _first_image(data.train)
    if np.ptp(np.asarray(image, dtype=int), axis=2).max() == 0:
        raise DataError(f"{data.name}: the first image is grey: saturation tells of coloured images alone")
    name = f"{data.name}, saturation {factor:g}"
    if factor == 1:
        return BenchData(name, data.words, data.train, data.test)
    root = folder / name.replace("/", "-")
    if not root.is_dir():
        partial = root.with_name(f"{root.name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        for part, source in ((TRAIN, data.train), (TEST, data.test)):
            for path in sorted(each for each in source.glob("*/*") if each.is_file()):
                target = partial / part / path.relative_to(source).with_suffix(".png")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(images.encode(with_saturation(_read(path), factor)))
        partial.rename(root)
    return BenchData(name, data.words, root / TRAIN, root / TEST)


def describe_data(data: Sequence[BenchData]) -> list[tuple[str, int, int, int]]:
    """Name, number of classes, images in ``train`` and in ``test`` of each; what Table 5 of the paper says."""
    return [(each.name, len(classes(each.train)), _images(each.train), _images(each.test)) for each in data]


def data_table(data: Sequence[BenchData]) -> list[str]:
    """Return Table 5 of the PCEvolve paper of the data sets, in Markdown; the first image is measured."""
    lines = [
        "| data set | first image | to draw shots from | held out | words | labels |",
        "|---|---|---|---|---|---|",
    ]
    for each, (name, _, train, test) in zip(data, describe_data(data), strict=True):
        width, height = _first_image(each.train).size
        labels = ", ".join(classes(each.train))
        lines.append(f"| {name} | {width}x{height} | {train} | {test} | {each.words} | {labels} |")
    return [*lines, ""]


def classes(folder: Path) -> list[str]:
    """Names of the class folders of ``train`` or ``test``.

    Raises:
        DataError: There is no such folder.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; give one with {TRAIN} and {TEST}, each of class folders")
    return sorted(each.name for each in folder.iterdir() if each.is_dir())


def _first_image(folder: Path) -> DecodedImage:
    """The first image of the first class.

    Raises:
        DataError: There is none, or it is damaged.
    """
    path = next((each for each in sorted(folder.rglob("*")) if each.is_file()), None)
    if path is None:
        raise DataError(f"{folder} has no image")
    return _read(path)


def _read(path: Path) -> DecodedImage:
    """An image.

    Raises:
        DataError: It is damaged.
    """
    try:
        return read_image(path)[0]
    except RejectedImageError as error:
        raise DataError(f"{path} {error}") from None


def _images(folder: Path) -> int:
    return sum(
        1 for label in folder.iterdir() if label.is_dir() for each in label.iterdir() if each.is_file()
    )


def _write(folder: Path, data: PrivateDataset, shown: Callable[[DecodedImage], DecodedImage]) -> None:
    for label in data.labels:
        (folder / label).mkdir(parents=True)
    for place, (image, target) in enumerate(zip(data.items, data.targets, strict=True)):
        (folder / data.labels[target] / f"{place:04d}.png").write_bytes(images.encode(shown(image)))


OPTION = "--le-prompts"


def attach_prompts(table: Table, path: Path) -> Table:
    """A table whose row LE has the prompts of a file; cells depend on what it says, not on where it lies.

    Raises:
        UsageError: The table has no row LE, or there is no such file.
    """
    if LE not in table.rows:
        raise UsageError(f"{OPTION}: the table {table.name!r} has no row LE: leave it out")
    own = Variant(f"LE (prompts of {path.name})", {**LE.options, "prompts": name_prompts(path)})
    return replace(table, rows=tuple(own if row == LE else row for row in table.rows))


def keep_prompts(path: Path, data: Sequence[BenchData], out: Path) -> None:
    """Check a file of prompts, and copy it to where the runs read it.

    Raises:
        UsageError: It is none, or is of other classes; or there are several data sets, with classes of their own.
    """
    if len(data) > 1:
        raise UsageError(f"{OPTION} names the classes of one data set: make one table for each --data")
    read_prompts(path, 0, data[0].words, classes(data[0].train), OPTION)
    kept = locate_prompts(out, name_prompts(path))
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_durably(kept, path.read_bytes())


def name_prompts(path: Path) -> str:
    """Name a file of prompts where it is kept: a digest of what it says.

    Raises:
        UsageError: There is no such file.
    """
    try:
        return f"{hashlib.sha256(path.read_bytes()).hexdigest()}.json"
    except OSError as error:
        raise UsageError(f"{OPTION} {path}: {error.strerror or error}") from None


def locate_prompts(out: Path, name: str) -> Path:
    """Where a file of prompts is kept, in the folder of all tables."""
    return out / "prompts" / name
