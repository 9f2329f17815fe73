"""What lies in a private folder, by name alone: which file is an image of which class, and what is passed over.

No image is opened here. Of a file whose name does not say what it is, the first bytes are looked at: text beside the
images (notes, a table of annotations) is passed over with a note, and everything else is told to be converted. A file
that says that it is an image is never passed over, because the shots per class are part of what a run declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pcevolve.errors import DataError
from pcevolve.modality.images.kinds import HEAD_BYTES, SUFFIXES, Kind, advice, kind_of
from pcevolve.private.sources import OF_CLASSES, OF_IMAGES, require_folder
from pcevolve.public.labels import SYSTEM_FILES, label_fault, label_faults

MAX_IMAGES = 1_000_000
"""Up to which sums of shares are exact with room to spare; see ``selectors.scene.rounded_down``."""
_NAMED = 5  # files named in one error


@dataclass(frozen=True, repr=False)
class Listing:
    """The images of a folder by name, in an order that the names fix; private but for the labels.

    Attributes:
        root: The folder.
        labels: Sorted class names; public by assumption.
        files: Paths of the images.
        targets: Class of each file, an index into ``labels``.
        skipped: Files that are no images and say so, in no class.
        faults: What a run would be refused for, where the folder was only looked at.
    """

    root: Path
    labels: tuple[str, ...]
    files: tuple[Path, ...]
    targets: tuple[int, ...]
    skipped: tuple[Path, ...] = ()
    faults: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "Listing"

    @property
    def names(self) -> tuple[str, ...]:
        """Path of each image inside the folder, with slashes on every machine."""
        return tuple(file.relative_to(self.root).as_posix() for file in self.files)

    def subset(self, places: Sequence[int]) -> Listing:
        """The files at some places, in that order, with the same labels."""
        return Listing(
            self.root,
            self.labels,
            tuple(self.files[place] for place in places),
            tuple(self.targets[place] for place in places),
        )


def listed(path: Path, label: str | None, strict: bool = True) -> Listing:
    """List a private folder: all its images as one class where a label for it is given, else its class folders.

    Args:
        path: The folder.
        label: Public name of the one class; None where subfolders are the classes.
        strict: Refuse what a run would; else it is told in ``faults``.

    Raises:
        DataError: What is wrong, by the names of up to five files, in one line.
    """
    return listed_classes(path, strict) if label is None else listed_unlabelled(path, label, strict)


def listed_classes(path: Path, strict: bool = True) -> Listing:
    """List a folder of class folders.

    Hidden files and those of systems (``Thumbs.db``) are ignored anywhere, and so are files beside the class folders
    that are no images (a README, a manifest).

    Args:
        path: Its subfolders' names are the labels.
        strict: Refuse what a run would; else it is told in ``faults``.

    Raises:
        DataError: What is wrong, by the names of up to five files, in one line.
    """
    folders = _class_folders(path)
    found = [(file, target) for target, folder in enumerate(folders) for file in _visible(folder)]
    return _sorted_out(path, tuple(folder.name for folder in folders), found, strict)


def listed_unlabelled(path: Path, label: str, strict: bool = True) -> Listing:
    """List all images of a folder and its subfolders as one class.

    Args:
        path: The folder.
        label: Public name of the class.
        strict: Refuse what a run would; else it is told in ``faults``.

    Raises:
        DataError: What is wrong, by the names of up to five files, in one line.
    """
    require_folder(path, OF_IMAGES)
    fault = label_fault(label)
    if fault is not None:
        raise DataError(f"{label!r} cannot be used as a label, because {fault}: choose other --domain words")
    below = (path, *_folders_below(path))
    found = [(file, 0) for folder in below for file in _visible(folder) if not file.is_dir()]
    return _sorted_out(path, (label,), found, strict)


def refuse(faults: Sequence[str]) -> None:
    """Raise one line that lists the first faults and counts the others, if there are any.

    Raises:
        DataError: There is a fault.
    """
    if faults:
        more = f"; and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
        raise DataError("private data: " + "; ".join(faults[:_NAMED]) + more)


def short(file: Path) -> str:
    """A file as errors name it: with the folder that it lies in."""
    return f"{file.parent.name}/{file.name}"


def _sorted_out(
    root: Path, labels: tuple[str, ...], found: Sequence[tuple[Path, int]], strict: bool
) -> Listing:
    """Tell images from what is passed over, and refuse what is neither.

    Raises:
        DataError: Something is neither, there are too many images, or a class has none.
    """
    kinds = {file: _kind(file) for file, _ in found}
    faults = [f"{short(file)} {_advice(file)}" for file, kind in kinds.items() if kind is Kind.OTHER]
    if strict:
        refuse(faults)
    images = [(file, target) for file, target in found if kinds[file] is Kind.IMAGE]
    if len(images) > MAX_IMAGES:
        raise DataError(f"{root} holds more than {MAX_IMAGES:,} images: use a smaller dataset")
    empty = sorted(set(range(len(labels))) - {target for _, target in images})
    if empty and strict:
        raise DataError(_emptiness(root, labels, empty[0]))
    faults += [_emptiness(root, labels, target) for target in empty]
    files, targets = tuple(file for file, _ in images), tuple(target for _, target in images)
    skipped = tuple(file for file, kind in kinds.items() if kind is Kind.NOTES)
    return Listing(root, labels, files, targets, skipped, tuple(faults))


def _kind(file: Path) -> Kind:
    """What a file is; a folder is nothing that can be read."""
    return Kind.OTHER if file.is_dir() else kind_of(file.name, _head(file))


def _advice(file: Path) -> str:
    """What to do with a file that is neither image nor notes."""
    return (
        "is a folder: move its images up, or remove it" if file.is_dir() else advice(file.name, _head(file))
    )


def _head(file: Path) -> bytes:
    """The first bytes of a file whose name does not say what it is; of one that cannot be opened, none of text's."""
    if file.suffix.lower() in SUFFIXES:
        return b""
    try:
        if not file.is_file():  # a pipe would block
            return b"\0"
        with file.open("rb") as opened:
            return opened.read(HEAD_BYTES)
    except OSError:
        return b"\0"


def _emptiness(root: Path, labels: tuple[str, ...], target: int) -> str:
    """What is wrong with a class that has no images."""
    if len(labels) == 1:
        return f"{root} holds no images"
    return f"class {labels[target]!r} is empty: add images to {root / labels[target]} or remove it"


def _folders_below(path: Path) -> list[Path]:
    own = [entry for entry in _visible(path) if entry.is_dir()]
    return [folder for each in own for folder in (each, *_folders_below(each))]


def _class_folders(path: Path) -> list[Path]:
    require_folder(path, OF_CLASSES)
    entries = _visible(path)
    folders = [entry for entry in entries if entry.is_dir()]
    loose = [entry for entry in entries if not entry.is_dir() and entry.suffix.lower() in SUFFIXES]
    if not folders:
        raise DataError(f"{path} has no class folders: put the images into one subfolder per class")
    refuse([f"{entry.name} lies outside the class folders" for entry in loose])
    if len(folders) == 1:
        raise DataError(
            f"{path} has only one class, {folders[0].name!r}: at least two are needed, or --unlabelled"
        )
    refuse([f"{fault}; rename it" for fault in label_faults(folder.name for folder in folders)])
    return folders


def _visible(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}") from None
    return [e for e in entries if not e.name.startswith(".") and e.name.lower() not in SYSTEM_FILES]
