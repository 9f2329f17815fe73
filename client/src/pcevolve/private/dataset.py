"""The private dataset: labelled images, or texts, that stay on this machine, read from the files that a listing names.

A dataset is complete or it is refused: an image that cannot be used is never skipped, because the shots per class are
part of what a run declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError, UsageError
from pcevolve.ledger.units import IMAGE, PrivateUnit
from pcevolve.modality.images.decoding import DecodedImage
from pcevolve.modality.images.files import RejectedImageError, examine, pixel_count
from pcevolve.modality.images.levels import Seen, Window, folder_fault
from pcevolve.modality.medium import Item
from pcevolve.private import BATCH_IMAGES, ProgressCallback, no_progress
from pcevolve.private.listing import Listing, list_classes, refuse, short
from pcevolve.private.stored import StoredImages
from pcevolve.private.subsample import pick

IntArray = NDArray[np.int64]

KEPT_PIXELS = 400_000_000
"""Pixels that are kept in memory, 1.2 GB; the images of a larger dataset are read again when they are looked at."""


@dataclass(frozen=True, repr=False, eq=False)
class PrivateDataset:
    """Labelled private images, in an order that the file names fix.

    Attributes:
        labels: Class names, public by assumption: sorted, or as the owner's words for them name and order them.
            Everything else here is private.
        items: Images in RGB, without metadata, in memory or as ``StoredImages``; or texts.
        targets: int64 ``(images,)``, indices into ``labels``.
        digests: SHA-256 of each image's pixels, for the ledger's keyed fingerprints, and to tell the owner's sets apart
            in ``private/``.
        unit_of: int64 ``(images,)``, the privacy unit of each image; one of its own for each unless given.
        unit_name: What a unit is; public.
        unit_names: What the owner calls each unit, by its number in ``unit_of``; empty for units that are one image.
        names: Path of each image's file inside the folder it was read from; empty for data without files.
        marks: Values of each text in the owner's columns of secrets; empty where there are none.
    """

    labels: tuple[str, ...]
    items: Sequence[Item]
    targets: IntArray
    digests: tuple[bytes, ...]
    unit_of: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    unit_name: str = IMAGE
    unit_names: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    marks: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if not len(self.items) == len(self.targets) == len(self.digests):
            raise ValueError("items, targets and digests differ in length")
        if len(self.unit_of) == 0:
            object.__setattr__(self, "unit_of", np.arange(len(self.items)))
        if len(self.unit_of) != len(self.items) or (self.names and len(self.names) != len(self.items)):
            raise ValueError("items, units and names differ in length")
        if self.unit_names and self.unit_of.max(initial=-1) >= len(self.unit_names):
            raise ValueError("a unit has no name")
        self.targets.setflags(write=False)
        self.unit_of.setflags(write=False)

    def __repr__(self) -> str:
        return "PrivateDataset"

    def __len__(self) -> int:
        return len(self.items)

    def privacy_units(self) -> tuple[PrivateUnit, ...]:
        """Return the privacy units, by their images' digests and their names; for the ledger only."""
        digests: dict[int, list[bytes]] = {}
        for unit, digest in zip(self.unit_of.tolist(), self.digests, strict=True):
            digests.setdefault(unit, []).append(digest)
        names = self.unit_names or (None,) * (max(digests, default=-1) + 1)
        return tuple(PrivateUnit(tuple(digests[unit]), names[unit]) for unit in sorted(digests))

    def rename(self, names: Mapping[str, str]) -> PrivateDataset:
        """Return the same images under other labels, in another order of classes.

        Args:
            names: From every label to its new one, in the new order.

        Raises:
            UsageError: A label has no new name, or there is no such label.
        """
        if odd := sorted(set(names) ^ set(self.labels)):
            raise UsageError(f"data.words needs every class once, and says otherwise of {odd[0]!r}")
        places = {label: place for place, label in enumerate(names)}
        order = np.array([places[label] for label in self.labels], dtype=np.int64)
        return replace(self, labels=tuple(names.values()), targets=order[self.targets])

    def indices_of(self, label: str) -> IntArray:
        """Return the image indices of one class, int64 ``(images of the class,)``."""
        return np.flatnonzero(self.targets == self.labels.index(label))

    def units_in(self, label: str) -> int:
        """Return how many privacy units have images in one class; for the owner's eyes only."""
        return len(np.unique(self.unit_of[self.indices_of(label)]))

    def subset(self, indices: Iterable[int]) -> PrivateDataset:
        """Return the images at ``indices``, in that order, with the same labels."""
        places = [int(index) for index in indices]
        return PrivateDataset(
            labels=self.labels,
            items=_some(self.items, places),
            targets=self.targets[places],
            digests=pick(self.digests, places),
            unit_of=self.unit_of[places],
            unit_name=self.unit_name,
            unit_names=self.unit_names,
            names=pick(self.names, places),
            marks=pick(self.marks, places),
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


def load_folder(path: Path, *, unique: bool = True, window: Window | None = None) -> PrivateDataset:
    """Load a folder of class folders of images; see ``list_classes`` and ``load``.

    Args:
        path: Its subfolders' names are the labels.
        unique: Refuse the same pixels twice.
        window: What is black and what is white in grey files; None for what each says itself.

    Raises:
        DataError: What is wrong, by the names of up to five files, in one line.
    """
    return load(list_classes(path), unique=unique, window=window)


def load(
    listing: Listing,
    *,
    unique: bool = True,
    keep: int = KEPT_PIXELS,
    told: ProgressCallback = no_progress,
    window: Window | None = None,
) -> PrivateDataset:
    """Read the images of a listing.

    Args:
        listing: Names them.
        unique: Refuse the same pixels twice: the unit's share in every vote would be two, and the guarantee is stated
            for one. False for held-out data, which no vote sees.
        keep: Pixels that may be kept in memory; if there are more, every image is read again when it is looked at.
        told: Is told how many images are read.
        window: What is black and what is white in grey files; None for what each says itself.

    Returns:
        The dataset; labels and files in the listing's order.

    Raises:
        DataError: What is wrong, by the names of up to five files, in one line.
    """
    images, digests = _read_all(listing.files, keep, told, window)
    if unique:
        _refuse_duplicates(listing.files, digests)
    targets = np.array(listing.targets, dtype=np.int64)
    return PrivateDataset(listing.labels, images, targets, digests, names=listing.names)


def _read_all(
    files: tuple[Path, ...], keep: int, told: ProgressCallback, window: Window | None
) -> tuple[Sequence[DecodedImage], tuple[bytes, ...]]:
    kept: list[DecodedImage] = []
    digests: list[bytes] = []
    seen: list[Seen] = []
    faults: list[str] = []
    pixels = 0
    for number, file in enumerate(files, 1):
        try:
            found = examine(file, window)
        except RejectedImageError as error:
            faults.append(f"{short(file)} {error}")
            continue
        digests.append(found.digest)
        seen.append(found.seen)
        pixels += pixel_count(found.image)
        if pixels <= keep:
            kept.append(found.image)
        else:
            kept.clear()
        if number % BATCH_IMAGES == 0:
            told(number, len(files))
    refuse(faults or list(filter(None, [folder_fault(seen)])))
    told(len(files), len(files))
    stored = StoredImages(files, tuple(digests), window)
    return tuple(kept) if pixels <= keep else stored, tuple(digests)


def _some(images: Sequence[Item], places: Sequence[int]) -> Sequence[Item]:
    """Images at some places; those that are stored stay where they are."""
    return images.some(places) if isinstance(images, StoredImages) else tuple(images[at] for at in places)


def _refuse_duplicates(files: Sequence[Path], units: Sequence[bytes]) -> None:
    first: dict[bytes, Path] = {}
    faults = []
    for file, unit in zip(files, units, strict=True):
        twin = first.setdefault(unit, file)
        if twin is not file:
            faults.append(f"{short(file)} has the pixels of {short(twin)}; remove one")
    refuse(faults)
