"""The private dataset: labelled images that stay on this machine; loading from class folders.

A dataset is complete or it is refused: a file that cannot be used is never skipped in silence,
because the shots per class are part of what a run declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError, UsageError
from pcevolve.ledger.units import IMAGE, PrivateUnit
from pcevolve.modality.images.decoding import DecodedImage
from pcevolve.modality.images.files import SUFFIXES, RejectedImageError, pixel_count, read_image
from pcevolve.private.sources import OF_CLASSES, OF_IMAGES, require_folder
from pcevolve.public.labels import SYSTEM_FILES, label_fault, label_faults

IntArray = NDArray[np.int64]

MAX_IMAGES = 100_000
MAX_TOTAL_PIXELS = 2_000_000_000  # 6 GB in memory
_KINDS = "PNG, JPEG, TIFF, BMP or WebP"
_NAMED = 5  # files named in one error


@dataclass(frozen=True, repr=False, eq=False)
class PrivateDataset:
    """Labelled private images, in an order that the file names fix.

    Attributes:
        labels: Sorted class names; public by assumption. Everything else here is private.
        images: RGB, without metadata.
        targets: int64 ``(images,)``, indices into ``labels``.
        digests: SHA-256 of each image's pixels, for the ledger's keyed fingerprints only.
        unit_of: int64 ``(images,)``, the privacy unit of each image; one of its own for each unless given.
        unit_name: What a unit is; public.
        unit_names: What the owner calls each unit, by its number in ``unit_of``; empty for units that are one image.
        names: Path of each image's file inside the folder it was read from; empty for data without files.
    """

    labels: tuple[str, ...]
    images: tuple[DecodedImage, ...]
    targets: IntArray
    digests: tuple[bytes, ...]
    unit_of: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    unit_name: str = IMAGE
    unit_names: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.images) == len(self.targets) == len(self.digests):
            raise ValueError("images, targets and digests differ in length")
        if len(self.unit_of) == 0:
            object.__setattr__(self, "unit_of", np.arange(len(self.images)))
        if len(self.unit_of) != len(self.images) or (self.names and len(self.names) != len(self.images)):
            raise ValueError("images, units and names differ in length")
        if self.unit_names and self.unit_of.max(initial=-1) >= len(self.unit_names):
            raise ValueError("a unit has no name")
        self.targets.setflags(write=False)
        self.unit_of.setflags(write=False)

    def __repr__(self) -> str:
        return "PrivateDataset"

    def __len__(self) -> int:
        return len(self.images)

    def privacy_units(self) -> tuple[PrivateUnit, ...]:
        """Return the privacy units, by their images' digests and their names; for the ledger only."""
        digests: dict[int, list[bytes]] = {}
        for unit, digest in zip(self.unit_of.tolist(), self.digests, strict=True):
            digests.setdefault(unit, []).append(digest)
        names = self.unit_names or (None,) * (max(digests, default=-1) + 1)
        return tuple(PrivateUnit(tuple(digests[unit]), names[unit]) for unit in sorted(digests))

    def indices_of(self, label: str) -> IntArray:
        """Return the image indices of one class, int64 ``(images of the class,)``."""
        return np.flatnonzero(self.targets == self.labels.index(label))

    def units_in(self, label: str) -> int:
        """Return how many privacy units have images in one class; for the owner's eyes only."""
        return len(np.unique(self.unit_of[self.indices_of(label)]))

    def subset(self, indices: Iterable[int]) -> PrivateDataset:
        """Return the images at ``indices``, in that order, with the same labels."""
        chosen = [int(index) for index in indices]
        return PrivateDataset(
            labels=self.labels,
            images=tuple(self.images[index] for index in chosen),
            targets=self.targets[chosen],
            digests=tuple(self.digests[index] for index in chosen),
            unit_of=self.unit_of[chosen],
            unit_name=self.unit_name,
            unit_names=self.unit_names,
            names=tuple(self.names[index] for index in chosen) if self.names else (),
        )

    def split(self, shots: int, seed: int) -> tuple[PrivateDataset, PrivateDataset]:
        """Draw ``shots`` images per class; the rest is held out.

        Args:
            shots: Images per class, at least 1; every class must keep one for the rest.
            seed: Public.

        Returns:
            The drawn images and the others, both in image order.

        Raises:
            UsageError: ``shots`` is below 1.
            DataError: A class is too small.
        """
        if shots < 1:
            raise UsageError(f"{shots} shots per class asked for: ask for 1 or more")
        random = np.random.default_rng(seed)
        drawn = np.zeros(len(self), dtype=bool)
        for label in self.labels:
            indices = self.indices_of(label)
            if len(indices) <= shots:
                raise DataError(f"class {label!r} is too small for {shots} shots and a held-out rest")
            drawn[random.permutation(indices)[:shots]] = True
        return self.subset(np.flatnonzero(drawn)), self.subset(np.flatnonzero(~drawn))


def load_folder(path: Path, *, unique: bool = True) -> PrivateDataset:
    """Load a folder of class folders of PNG, JPEG, TIFF, BMP or WebP images.

    Hidden files are ignored anywhere, and so are other files beside the class folders (a README,
    a manifest); inside a class folder every visible file must be a usable image.

    Args:
        path: Its subfolders' names are the labels.
        unique: Refuse the same pixels twice: the unit's share in every vote would be two, and
            the guarantee is stated for one. False for held-out data, which no vote sees.

    Returns:
        The dataset; labels and files in sorted order.

    Raises:
        DataError: What is wrong, by the names of up to five files, in one line.
    """
    folders = _class_folders(path)
    listed = [(file, target) for target, folder in enumerate(folders) for file in _class_files(folder)]
    files, targets = [file for file, _ in listed], [target for _, target in listed]
    return _load(path, files, tuple(folder.name for folder in folders), targets, unique)


def load_unlabelled(path: Path, label: str) -> PrivateDataset:
    """Load all images of a folder and its subfolders as one class.

    Args:
        path: Every visible file in it must be a usable image.
        label: Public name of the class.

    Raises:
        DataError: What is wrong, by the names of up to five files, in one line.
    """
    require_folder(path, OF_IMAGES)
    fault = label_fault(label)
    if fault is not None:
        raise DataError(f"{label!r} cannot be used as a label, because {fault}: choose other --domain words")
    files = [
        file for folder in (path, *_folders_below(path)) for file in _visible(folder) if not file.is_dir()
    ]
    if not files:
        raise DataError(f"{path} holds no images")
    return _load(path, files, (label,), [0] * len(files), unique=True)


def _folders_below(path: Path) -> list[Path]:
    own = [entry for entry in _visible(path) if entry.is_dir()]
    return [folder for each in own for folder in (each, *_folders_below(each))]


def _load(
    root: Path, files: Sequence[Path], labels: tuple[str, ...], targets: Sequence[int], unique: bool
) -> PrivateDataset:
    _refuse([f"{_short(file)} is not a {_KINDS} image" for file in files if not _looks_usable(file)])
    if len(files) > MAX_IMAGES:
        raise DataError(f"{root} holds more than {MAX_IMAGES:,} images: use a smaller dataset")
    images, digests = _read_all(files)
    if unique:
        _refuse_duplicates(files, digests)
    names = tuple(file.relative_to(root).as_posix() for file in files)
    return PrivateDataset(labels, images, np.array(targets, dtype=np.int64), digests, names=names)


def _class_folders(path: Path) -> list[Path]:
    require_folder(path, OF_CLASSES)
    entries = _visible(path)
    folders = [entry for entry in entries if entry.is_dir()]
    loose = [entry for entry in entries if not entry.is_dir() and entry.suffix.lower() in SUFFIXES]
    if not folders:
        raise DataError(f"{path} has no class folders: put the images into one subfolder per class")
    _refuse([f"{entry.name} lies outside the class folders" for entry in loose])
    if len(folders) == 1:
        raise DataError(f"{path} has only one class, {folders[0].name!r}: at least two are needed")
    _refuse([f"{fault}; rename it" for fault in label_faults(folder.name for folder in folders)])
    return folders


def _class_files(folder: Path) -> list[Path]:
    files = _visible(folder)
    if not files:
        raise DataError(f"class {folder.name!r} is empty: add images to {folder} or remove it")
    return files


def _visible(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from None
    return [e for e in entries if not e.name.startswith(".") and e.name.lower() not in SYSTEM_FILES]


def _read_all(files: Sequence[Path]) -> tuple[tuple[DecodedImage, ...], tuple[bytes, ...]]:
    images: list[DecodedImage] = []
    units: list[bytes] = []
    faults: list[str] = []
    pixels = 0
    for file in files:
        try:
            image, unit = read_image(file)
        except RejectedImageError as error:
            faults.append(f"{_short(file)} {error}")
            continue
        pixels += pixel_count(image)
        if pixels > MAX_TOTAL_PIXELS:
            raise DataError(f"more than {MAX_TOTAL_PIXELS:,} pixels in all: use fewer or smaller images")
        images.append(image)
        units.append(unit)
    _refuse(faults)
    return tuple(images), tuple(units)


def _refuse_duplicates(files: Sequence[Path], units: Sequence[bytes]) -> None:
    first: dict[bytes, Path] = {}
    faults = []
    for file, unit in zip(files, units, strict=True):
        twin = first.setdefault(unit, file)
        if twin is not file:
            faults.append(f"{_short(file)} has the pixels of {_short(twin)}; remove one")
    _refuse(faults)


def _refuse(faults: Sequence[str]) -> None:
    """Raise one line that lists the first faults and counts the others, if there are any."""
    if faults:
        more = f"; and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
        raise DataError("private data: " + "; ".join(faults[:_NAMED]) + more)


def _looks_usable(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES and not file.is_dir()


def _short(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"
