"""List a private folder by names: each image and its class, and the files that are skipped.

No image is decoded. If a file's suffix shows no image, its first bytes are read. An image without a suffix
counts as an image. Text beside the images, such as notes or a table of annotations, is skipped with a note.
The owner has to convert all other files. A file named as an image is never skipped, because a run declares
its shots per class.

All faults are found in one pass, so that none hides another. If folders are not laid out one per class
(splits, patients, an outer folder), the fault names the right folder, and as many images as possible are
listed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pcevolve.errors import DataError
from pcevolve.keeper.private.items import PrivateItems, pick
from pcevolve.public.config.data_source import OF_CLASSES, OF_IMAGES, require_folder
from pcevolve.public.media.images.kinds import HEAD_BYTES, SUFFIXES, FileKind, advise, tell_kind
from pcevolve.public.words import SYSTEM_FILES, find_label_fault, find_label_faults, nfc
from pcevolve_shared.reading import open_file

MAX_IMAGES = 1_000_000
"""Largest number of images: sums of so many shares are surely exact; see ``selectors.selection.round_down``."""
_NAMED = 5  # files named in one error


@dataclass(frozen=True, repr=False)
class UnitMap:
    """A map from each image of a folder to its privacy unit.

    Attributes:
        kind: Kind of unit (``patient``); public. Everything else here is private.
        of: The owner's name of each image's unit, by the image's path inside the folder.
    """

    kind: str
    of: dict[str, str]


@dataclass(frozen=True, repr=False)
class Listing(PrivateItems):
    """The images of a folder by name, in an order determined by the names; private except for the labels.

    Attributes:
        labels: Sorted class names; public by assumption.
        targets: Class of each file, an index into ``labels``.
        skipped: Files that are obviously not images, in no class.
        faults: Reasons for which a run would be refused, layout faults first; found only by an inspection.
        units: The unit of each image; None if each image is one unit.
    """

    root: Path
    labels: tuple[str, ...]
    files: tuple[Path, ...]
    targets: tuple[int, ...]
    skipped: tuple[Path, ...] = ()
    faults: tuple[str, ...] = ()
    units: UnitMap | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Path of each image inside the folder, with slashes and in one Unicode form (NFC) on every machine."""
        return tuple(nfc(file.relative_to(self.root).as_posix()) for file in self.files)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The labels, including classes without images."""
        return self.labels

    @property
    def unit_keys(self) -> tuple[str, ...]:
        """The name of each image's unit; the image's own name if each image is one unit."""
        return self.names if self.units is None else tuple(self.units.of[name] for name in self.names)

    def subset(self, places: Sequence[int]) -> Listing:
        """Return the files at the given indices, in that order, with the same labels."""
        files, targets = pick(self.files, places), pick(self.targets, places)
        return Listing(self.root, self.labels, files, targets, units=self.units)


@dataclass
class Folders:
    """Lists each folder once; unreadable folders, and links back to a parent, become ``faults``."""

    faults: list[str] = field(default_factory=list)
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def visible(self, folder: Path) -> list[Path]:
        """Return a folder's contents by name, without hidden and system files (``Thumbs.db``)."""
        try:
            status = folder.stat()
            entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
        except OSError as error:
            self.faults.append(f"{folder} cannot be read: {error.strerror}")
            return []
        # By device and inode: a link back to a parent folder would be followed forever.
        if (status.st_dev, status.st_ino) in self._seen:
            self.faults.append(f"{folder} is the same folder as another folder: remove the link")
            return []
        self._seen.add((status.st_dev, status.st_ino))
        return [e for e in entries if not e.name.startswith(".") and e.name.lower() not in SYSTEM_FILES]

    def files_below(self, folder: Path) -> Iterator[Path]:
        """Yield all files of a folder and its subfolders."""
        for entry in self.visible(folder):
            if is_folder(entry):
                yield from self.files_below(entry)
            else:
                yield entry


def list_folder(path: Path, label: str | None = None, strict: bool = True, nested: bool = False) -> Listing:
    """List a private folder: all images as one class if a label is given, else by class folders.

    Hidden and system files are ignored everywhere. Beside the class folders, files that are not images (a
    README, a manifest) are ignored too.

    Args:
        label: Public name of the one class; None if subfolders are the classes, with their names as labels.
        strict: Whether to raise faults for which a run would be refused; if not, they are in ``faults``.
        nested: Whether to include folders within class folders, because a map names their units.

    Raises:
        DataError: The faults of up to five files, in one line.
    """
    require_folder(path, OF_CLASSES if label is None else OF_IMAGES)
    found = _of_classes(path, nested) if label is None else _of_one_class(path, label)
    if strict:
        refuse(found.faults)
    return found


def _of_one_class(path: Path, label: str) -> Listing:
    folders = Folders()
    fault = find_label_fault(label)
    if fault is not None:
        folders.faults.append(
            f"{label!r} cannot be used as a label, because {fault}: choose other --domain words"
        )
    return _sort_out(path, (label,), [(file, 0) for file in folders.files_below(path)], folders.faults)


def _of_classes(path: Path, nested: bool) -> Listing:
    folders = Folders()
    entries = folders.visible(path)
    outer = [entry for entry in entries if is_folder(entry)]
    loose = [entry for entry in entries if not is_folder(entry) and tell_file_kind(entry) is FileKind.IMAGE]
    if not outer:
        return _without_classes(path, loose)
    within = {folder: folders.visible(folder) for folder in outer}
    deep = [folder for folder, each in within.items() if any(map(is_folder, each))]
    faults = _loose_faults(loose)
    if deep and not nested and not any(map(_holds_image, within.values())):
        from pcevolve.keeper.private.layouts import describe_patients, find_inner_root  # rarely needed

        if inner := find_inner_root(path, deep):
            root, fault = inner
            inside = _of_classes(root, nested)
            own = () if inside.root != root else (fault,)  # the inner listing already reports deeper folders
            return replace(inside, faults=(*own, *faults, *inside.faults))
        faults.append(describe_patients(path, {folder: within[folder] for folder in deep}))
        nested = True
    labels = tuple(nfc(folder.name) for folder in outer)
    if len(outer) == 1:
        faults.append(describe_single_class(path, labels[0]))
    faults += [f"{fault}; rename it" for fault in find_label_faults(labels)]
    found = [
        (file, target)
        for target, folder in enumerate(outer)
        for entry in within[folder]
        for file in (folders.files_below(entry) if nested and is_folder(entry) else (entry,))
    ]
    return _sort_out(path, labels, found, [*faults, *folders.faults])


def _without_classes(path: Path, loose: Sequence[Path]) -> Listing:
    """List the images of a folder without subfolders as one class, with a fault."""
    fault = f"{path} has no class folders: put the images into one subfolder per class"
    more = ", or treat all images as one class with --set data.unlabelled=true" if loose else ""
    table = next((each for each in sorted(path.iterdir()) if each.suffix.lower() in _TABLES), None)
    advice = (
        f"; the file {table.name}, which is not read, may list the class of each image"
        if loose and table
        else ""
    )
    return _sort_out(path, ("images",), [(file, 0) for file in loose], [fault + more + advice])


_TABLES = frozenset({".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx"})
"""Suffixes of files that may hold labels."""


def _holds_image(entries: Sequence[Path]) -> bool:
    return any(not is_folder(each) and tell_file_kind(each) is FileKind.IMAGE for each in entries)


def _loose_faults(loose: Sequence[Path]) -> list[str]:
    """Describe images beside the class folders; only the first few are named."""
    advice = "is outside the class folders: move it into a class folder, or remove it"
    more = [f"{len(loose) - _NAMED} more images are outside the class folders"] if len(loose) > _NAMED else []
    return [*(f"{entry.name} {advice}" for entry in loose[:_NAMED]), *more]


def refuse(faults: Sequence[str]) -> None:
    """Raise a one-line ``DataError`` with the first faults and the number of others; do nothing without faults."""
    if faults:
        raise DataError(f"private data: {list_some(faults, '; ', '; and ')}")


def list_some(names: Sequence[str], joint: str = ", ", last: str = " and ") -> str:
    """Join the first few names, and state how many more there are."""
    more = f"{last}{len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return joint.join(names[:_NAMED]) + more


def refuse_twins(names: Sequence[str], items: Sequence[str | bytes], what: str) -> None:
    """Refuse data with two equal items (``DataError``), given the items or their digests."""
    first: dict[str | bytes, int] = {}
    pairs = [(place, first.setdefault(item, place)) for place, item in enumerate(items)]
    refuse(
        [
            f"{names[one]} has the same {what} as {names[twin]}; remove one of them"
            for one, twin in pairs
            if twin != one
        ]
    )


def describe_single_class(path: Path, label: str) -> str:
    """State that data have only one class, and name the remedies."""
    return f"{path} has only one class, {label!r}: add another class, or give --set data.unlabelled=true"


def shorten(file: Path) -> str:
    """Return a file's name with its folder, for messages."""
    return f"{file.parent.name}/{file.name}"


def _sort_out(
    root: Path, labels: tuple[str, ...], found: Sequence[tuple[Path, int]], faults: Sequence[str]
) -> Listing:
    """Separate images from skipped files, and report all others as faults (``DataError`` for too many images)."""
    kinds = {file: tell_file_kind(file) for file, _ in found}
    odd = [f"{shorten(file)} {_advice(file)}" for file, kind in kinds.items() if kind is FileKind.OTHER]
    images = [(file, target) for file, target in found if kinds[file] is FileKind.IMAGE]
    if len(images) > MAX_IMAGES:
        raise DataError(f"{root} holds more than {MAX_IMAGES:,} images: use a smaller dataset")
    empty = sorted(set(range(len(labels))) - {target for _, target in images})
    files, targets = tuple(file for file, _ in images), tuple(target for _, target in images)
    skipped = tuple(file for file, kind in kinds.items() if kind is FileKind.NOTES)
    emptiness = [_emptiness(root, labels, target) for target in empty]
    found_once = Listing(root, labels, files, targets, skipped, (*faults, *odd, *emptiness))
    twice = [name for name, count in Counter(found_once.names).items() if count > 1]
    return replace(
        found_once,
        faults=(
            *found_once.faults,
            *(f"{name} is the name of two files: rename one of them" for name in twice),
        ),
    )


def is_folder(path: Path) -> bool:
    """True if a path is a readable folder."""
    try:
        return path.is_dir()
    except OSError:
        return False


def tell_file_kind(file: Path) -> FileKind:
    """Return the kind of a file; a folder is ``OTHER``."""
    if is_folder(file):
        return FileKind.OTHER
    return tell_kind(file.name, b"" if file.suffix.lower() in SUFFIXES else read_head(file))


def _advice(file: Path) -> str:
    """Advise on a file that is neither image nor notes."""
    if not is_folder(file):
        return advise(file.name, read_head(file))
    from pcevolve.keeper.private.companions import names_companions

    if names_companions(file.name):
        return "is a folder that by its name only accompanies images: move it elsewhere"
    return "is a folder inside a class folder: give the folder that contains the class folders, or move its images up"


def read_head(file: Path) -> bytes:
    """Return the first bytes of a file; for an unreadable file, bytes that are not text."""
    try:
        with open_file(file, sys.maxsize) as opened:
            return opened.read(HEAD_BYTES)
    except OSError:
        return b"\0"


def _emptiness(root: Path, labels: tuple[str, ...], target: int) -> str:
    if len(labels) == 1:
        return f"{root} holds no images"
    return f"class {labels[target]!r} is empty: add images to {root / labels[target]} or remove it"
