"""The private dataset: labelled images or texts on this machine, read from listed files.

If the images do not all fit in memory, they are read again at each use. A dataset is complete or refused:
an unusable image is never skipped, because a run declares its shots per class.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.ledger.units import PrivateUnit
from pcevolve.keeper.private import BATCH_IMAGES
from pcevolve.keeper.private.items import pick
from pcevolve.keeper.private.listing import Listing, list_folder, list_some, refuse, refuse_twins, shorten
from pcevolve.public.media import Item
from pcevolve.public.media.images.decoding import DecodedImage
from pcevolve.public.media.images.files import RejectedImageError, count_pixels, examine, read_image
from pcevolve.public.media.images.levels import Seen, Window, find_folder_fault
from pcevolve.public.screen import ProgressCallback, no_progress
from pcevolve.public.words import IMAGE

IntArray = NDArray[np.int64]

KEPT_PIXELS = 400_000_000
"""Largest number of pixels kept in memory, 1.2 GB; images of a larger dataset are read again at each use."""


@dataclass(frozen=True, repr=False, eq=False)
class PrivateDataset:
    """Labelled private images or texts, in an order determined by the file names.

    Attributes:
        labels: Class names, public by assumption: sorted, or in the order of the owner's words for them.
            Everything else here is private.
        items: Images in RGB, without metadata, in memory or as ``StoredImages``; or texts.
        targets: int64 ``(images,)``, indices into ``labels``.
        digests: SHA-256 of each image's pixels, for the ledger's keyed fingerprints, and to identify the
            owner's sets in measurements.
        unit_of: int64 ``(images,)``, the privacy unit of each image; by default each image is one.
        unit_name: Kind of unit; public.
        unit_names: The owner's name of each unit, by its number in ``unit_of``; empty if units are single
            images.
        names: Path of each image's file inside its folder; empty for data without files.
        marks: Each text's values in the columns that the owner declared secret; empty without such columns.
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
        # Read-only, because the ledger already has the digests of these data.
        self.targets.setflags(write=False)
        self.unit_of.setflags(write=False)

    def __len__(self) -> int:
        return len(self.items)

    def privacy_units(self, namespace: str = "") -> tuple[PrivateUnit, ...]:
        """Return the privacy units with their images' digests and their names; for the ledger only.

        Args:
            namespace: Source of the names; see ``PrivateUnit``.
        """
        digests: dict[int, list[bytes]] = {}
        for unit, digest in zip(self.unit_of.tolist(), self.digests, strict=True):
            digests.setdefault(unit, []).append(digest)
        # In the order of their numbers, because a resumed run must list its units in the same order.
        names = self.unit_names or (None,) * (max(digests, default=-1) + 1)
        return tuple(PrivateUnit(tuple(digests[unit]), names[unit], namespace) for unit in sorted(digests))

    def compute_digest(self) -> bytes:
        """Digest everything that a selection depends on, whatever the items' order; for the ledger's fingerprint."""
        names = self.unit_names or ("",) * (int(self.unit_of.max(initial=-1)) + 1)
        marks = self.marks or ((),) * len(self)
        each = zip(self.digests, self.targets.tolist(), self.unit_of.tolist(), marks, strict=True)
        rows = sorted(
            [digest.hex(), self.labels[target], names[unit], list(own)] for digest, target, unit, own in each
        )
        return hashlib.sha256(json.dumps(rows).encode()).digest()

    def rename(self, names: Mapping[str, str]) -> PrivateDataset:
        """Replace the labels, keeping their order (``UsageError`` unless every label gets a new name)."""
        if odd := sorted(set(names) ^ set(self.labels)):
            raise UsageError(f"data.words must contain every class exactly once: check {odd[0]!r}")
        places = {label: place for place, label in enumerate(names)}
        order = np.array([places[label] for label in self.labels], dtype=np.int64)
        return replace(self, labels=tuple(names.values()), targets=order[self.targets])

    def indices_of(self, label: str) -> IntArray:
        """Return the image indices of one class, int64 ``(images of the class,)``."""
        return np.flatnonzero(self.targets == self.labels.index(label))

    def count_units_in(self, label: str) -> int:
        """Return the number of privacy units with images in one class; for the owner only."""
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
        """Draw ``shots`` images per class; the other images are held out.

        Args:
            shots: Images per class, at least 1; each class must have more images than that.

        Returns:
            The drawn images and the others, both in image order.

        Raises:
            UsageError: ``shots`` is below 1.
            DataError: A class has no more than ``shots`` images.
        """
        if shots < 1:
            raise UsageError(f"{shots} shots per class were requested: give 1 or more")
        random = np.random.default_rng(seed)
        drawn = np.zeros(len(self), dtype=bool)
        for label in self.labels:
            indices = self.indices_of(label)
            if len(indices) <= shots:
                raise DataError(f"class {label!r} is too small for {shots} shots and a held-out rest")
            drawn[random.permutation(indices)[:shots]] = True
        return self.subset(np.flatnonzero(drawn)), self.subset(np.flatnonzero(~drawn))


def load_folder(path: Path, *, unique: bool = True, window: Window | None = None) -> PrivateDataset:
    """Load a folder of class folders of images; see ``list_folder`` and ``load``."""
    return load(list_folder(path), unique=unique, window=window)


def load(
    listing: Listing,
    *,
    unique: bool = True,
    keep: int = KEPT_PIXELS,
    show_progress: ProgressCallback = no_progress,
    window: Window | None = None,
) -> PrivateDataset:
    """Read the images of a listing.

    Args:
        unique: Whether to refuse two images with equal pixels. Equal images would count twice in every vote, and the
            guarantee covers one count. False for held-out data, which do not vote.
        keep: Largest number of pixels to keep in memory; beyond it, every image is read again at each use.
        window: Values of black and white in grey files; None for each file's own.

    Returns:
        The dataset, with labels and files in the listing's order.

    Raises:
        DataError: The faults of up to five files, in one line.
    """
    images, digests = _read_all(listing.files, keep, show_progress, window)
    if unique:
        refuse_twins(listing.names, digests, "pixels")
    targets = np.array(listing.targets, dtype=np.int64)
    return PrivateDataset(listing.labels, images, targets, digests, names=listing.names)


def _read_all(
    files: tuple[Path, ...], keep: int, show_progress: ProgressCallback, window: Window | None
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
            faults.append(f"{shorten(file)} {error}")
            continue
        digests.append(found.digest)
        seen.append(found.seen)
        pixels += count_pixels(found.image)
        if pixels <= keep:
            kept.append(found.image)
        else:
            # Emptied for good, because keeping only some of the images in memory would save no time.
            kept.clear()
        if number % BATCH_IMAGES == 0:
            show_progress(number, len(files))
    # All faults of a folder at once, so that its owner does not meet them one start at a time.
    refuse(faults or list(filter(None, [find_folder_fault(seen)])))
    show_progress(len(files), len(files))
    stored = StoredImages(files, tuple(digests), window)
    return tuple(kept) if pixels <= keep else stored, tuple(digests)


def _some(images: Sequence[Item], places: Sequence[int]) -> Sequence[Item]:
    """Return the images at the given indices; stored images stay on disk."""
    return images.subset(places) if isinstance(images, StoredImages) else tuple(images[at] for at in places)


@dataclass(frozen=True, repr=False, eq=False)
class StoredImages(Sequence[DecodedImage]):
    """Images on disk, decoded one at a time and never cached.

    A file is refused if its pixels have changed since loading, because charge and embedding must be for the
    same pixels.

    Attributes:
        digests: SHA-256 of each image's pixels when it was first read; see ``files.digest_pixels``.
        window: Values of black and white in grey files; None for each file's own.
    """

    files: tuple[Path, ...]
    digests: tuple[bytes, ...]
    window: Window | None = None

    def __len__(self) -> int:
        return len(self.files)

    @overload
    def __getitem__(self, place: int) -> DecodedImage: ...
    @overload
    def __getitem__(self, place: slice) -> StoredImages: ...
    def __getitem__(self, place: int | slice) -> DecodedImage | StoredImages:
        """Read one image, or return a slice (``DataError`` for a file that has changed or is gone)."""
        if isinstance(place, slice):
            return StoredImages(self.files[place], self.digests[place], self.window)
        # Compared at each read: a file replaced meanwhile would be charged to the wrong unit.
        image = read_unchanged(self.files[place], self.digests[place], self.window)
        if image is None:
            raise change_error([self.files[place]])
        return image

    def __iter__(self) -> Iterator[DecodedImage]:
        return (self[place] for place in range(len(self)))

    def subset(self, places: Sequence[int]) -> StoredImages:
        """Return the images at the given indices, in that order."""
        files, digests = [self.files[each] for each in places], [self.digests[each] for each in places]
        return StoredImages(tuple(files), tuple(digests), self.window)


def read_unchanged(file: Path, digest: bytes, window: Window | None) -> DecodedImage | None:
    """Read an image again; None if its pixels have changed."""
    try:
        image, found = read_image(file, window)
    except RejectedImageError:
        return None
    return image if found == digest else None


def change_error(files: Sequence[Path]) -> DataError:
    """Return the error for files that changed during the run."""
    named = list_some([shorten(file) for file in files])
    return DataError(f"private data: {named} changed or disappeared while they were read: run again")
