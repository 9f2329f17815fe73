"""Makes folders of class folders, ``train`` and ``test``, of a dataset as it was downloaded."""

from __future__ import annotations

import csv
import os
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pcevolve.errors import DataError, UsageError
from pcevolve.public.words import find_label_faults
from pcevolve_benchmarks.datasets.items import Dataset, Item

PARTS = ("train", "test")
UNITS = "units.csv"


@dataclass(frozen=True)
class WantedSplit:
    """How a dataset becomes folders.

    Attributes:
        labels: Names of the classes, in the order of those that the dataset has; none to keep these.
        held_out: Images per class for the test where there is no split, 0 for none; None for the dataset's own number.
        most: Most images per class of each part, drawn at random; None for all.
        seed: Of the draws.
    """

    labels: tuple[str, ...] = ()
    held_out: int | None = None
    most: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Written:
    """The folders and counts that were written.

    Attributes:
        out: The folder, with ``train`` and ``test``.
        labels: Of the classes.
        counts: Images by part.
        units: The map from images of ``train`` to their privacy units; None where nobody knows of any.
    """

    out: Path
    labels: tuple[str, ...]
    counts: dict[str, int]
    units: Path | None


ProgressCallback = Callable[[int, int], None]


def write(
    dataset: Dataset, source: Path, out: Path, wanted: WantedSplit, show_progress: ProgressCallback
) -> Written:
    """Write a dataset in one step: either all of it is there, or nothing.

    Args:
        dataset: Reads it.
        source: As it was downloaded.
        out: The folder to make; it must not exist.
        wanted: How.
        show_progress: Called with the numbers of written and of all images.

    Raises:
        DataError: The source is not what it should be, or a class has too few images.
        UsageError: The folder exists, or the labels do not fit.
    """
    if out.exists():
        raise UsageError(f"{out} exists already: name another --out, or remove it")
    items = _rename(_read(dataset, source), wanted.labels)
    chosen = _draw(_split(items, dataset, wanted), wanted)
    if wanted.held_out != 0:
        _require_both(chosen)
    partial = out.with_name(f".{out.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        for done, item in enumerate(chosen, 1):
            _place(item, partial / item.split / item.label / item.name)
            show_progress(done, len(chosen))
        _write_units(dataset, chosen, partial)
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    counts = {part: sum(item.split == part for item in chosen) for part in PARTS}
    labels = tuple(sorted({item.label for item in chosen}))
    return Written(out, labels, counts, out / UNITS if (out / UNITS).exists() else None)


def _read(dataset: Dataset, source: Path) -> list[Item]:
    """All images of a dataset; files of other people hold what nobody expects, and none of it is our fault."""
    try:
        return list(dataset.read(source))
    except OSError as error:
        raise DataError(f"{error.filename or source}: {error.strerror or 'cannot be read'}") from None
    except (LookupError, ValueError, TypeError, AttributeError, MemoryError, csv.Error) as error:
        told = f"{type(error).__name__}: {str(error)[:200]}"
        raise DataError(
            f"{source} is not {dataset.name} as it was downloaded ({told}): "
            f"pcevolve-bench datasets {dataset.name} says what it has to look like"
        ) from None


def _rename(items: Sequence[Item], labels: Sequence[str]) -> list[Item]:
    """Items under the names that the user gives to classes."""
    own = sorted({item.label for item in items}, key=lambda label: (len(label), label))
    if labels and len(labels) != len(own):
        raise UsageError(f"--labels names {len(labels)} classes, and there are {len(own)}: {', '.join(own)}")
    names = dict(zip(own, labels or own, strict=True))
    if faults := find_label_faults(names.values()):
        raise UsageError(f"--labels: {faults[0]}")
    return [replace(item, label=names[item.label]) for item in items]


def _split(items: Sequence[Item], dataset: Dataset, wanted: WantedSplit) -> list[Item]:
    """Items with a split; where there is none, some of each class are held out, drawn by the seed."""
    if any(item.split for item in items):
        if wanted.held_out is not None:
            raise UsageError(f"{dataset.name} has a split of its own: leave --held-out out")
        return [item for item in items if item.split]
    count = dataset.held_out if wanted.held_out is None else wanted.held_out
    made = []
    for (label,), own in _by(items, lambda item: (item.label,)).items():
        if len(own) <= count:
            raise DataError(
                f"class {label!r} has {len(own)} images, and {count} are to be held out: see --held-out"
            )
        shuffled = random.Random(f"{wanted.seed}/split/{label}").sample(own, len(own))
        made += [replace(item, split="test") for item in shuffled[:count]]
        made += [replace(item, split="train") for item in shuffled[count:]]
    return made


def _draw(items: Sequence[Item], wanted: WantedSplit) -> list[Item]:
    """At most so many of each class and part, in order."""
    kept: list[Item] = []
    for (part, label), own in _by(items, lambda item: (item.split, item.label)).items():
        if wanted.most is not None and len(own) > wanted.most:
            own = random.Random(f"{wanted.seed}/{part}/{label}").sample(own, wanted.most)
        kept += own
    return sorted(kept, key=lambda item: (item.split, item.label, item.name))


def _require_both(items: Iterable[Item]) -> None:
    """Refuse a dataset one part of which lacks a class."""
    classes = {part: {item.label for item in items if item.split == part} for part in PARTS}
    if missing := classes["train"] ^ classes["test"]:
        raise DataError(f"class {min(missing)!r} is in one of train and test alone")
    if len(classes["train"]) < 1:
        raise DataError("there is no image")


def _by(items: Iterable[Item], key: Callable[[Item], tuple[str, ...]]) -> dict[tuple[str, ...], list[Item]]:
    found: dict[tuple[str, ...], list[Item]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return dict(sorted(found.items()))


def _place(item: Item, path: Path) -> None:
    """Link, copy or write one image; never re-encodes a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        raise DataError(f"two images of class {item.label!r} are called {item.name}")
    if not isinstance(item.content, Path):
        path.write_bytes(item.content())
        return
    if not item.content.is_file():
        raise DataError(f"{item.content} is missing, and the dataset's own list names it")
    try:
        os.link(item.content.resolve(), path)
    except OSError:  # another file system, or one without links
        shutil.copyfile(item.content, path)


def _write_units(dataset: Dataset, items: Iterable[Item], folder: Path) -> None:
    """Say which images of ``train`` are of one unit, as ``--unit-map`` reads it."""
    if not dataset.unit:
        return
    with (folder / UNITS).open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["file", dataset.unit])
        rows.writerows([f"{item.label}/{item.name}", item.unit] for item in items if item.split == "train")
