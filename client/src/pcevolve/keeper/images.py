"""Private images: how they are read, and how they judge a run; see ``kind.PrivateKind``.

Functions that judge or measure import torch themselves, because torch takes seconds to load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pcevolve.errors import DataError, UsageError
from pcevolve.keeper.private.dataset import PrivateDataset, load
from pcevolve.keeper.private.listing import Listing, list_folder, shorten, tell_file_kind
from pcevolve.keeper.private_data import (
    NOTHING_LEFT,
    RunData,
    count_and_name,
    draw_units,
    find_test,
    note_companions,
    note_ids,
    require_shots,
)
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.files import REST
from pcevolve.public.media import Item
from pcevolve.public.media.images.kinds import FileKind
from pcevolve.public.modality import SINGLE, Images
from pcevolve.public.plan import PublicPlan
from pcevolve.public.screen import ProgressCallback, no_progress
from pcevolve.public.settings import window_ends

if TYPE_CHECKING:
    from pcevolve.keeper.check import Checkup
    from pcevolve.keeper.evaluation.judge import Evaluator, Features
    from pcevolve.keeper.evaluation.labelled import Labelled


def read_used(settings: RunConfig, path: Path, show_progress: ProgressCallback = no_progress) -> RunData:
    listing = _list(settings, path)
    counted = "images" if listing.units is None else f"units ({listing.units.kind})"
    if settings.data.unit_size and listing.units is not None:
        from pcevolve.keeper.private.units import require_unit_size

        require_unit_size(listing.unit_keys, listing.names, listing.units.kind, settings.data.unit_size)
    used, left = draw_units(settings, listing, counted)
    window = window_ends(settings.data.window)
    # Before units are counted: a remedy that leaves out unreadable images and duplicates changes the number.
    data = load(used, show_progress=show_progress, window=window)
    if used.units is not None:
        from pcevolve.keeper.private.units import group_into_units

        data = group_into_units(data, used.units)
    require_shots(settings, used.count_units(), counted, used.count_drawable)
    return RunData(data, _test(settings, data, left), notes=tuple(_note(listing)))


def _note(listing: Listing) -> Iterator[tuple[str, str]]:
    """Yield notes on skipped files, and on suspicious names of files and units."""
    if listing.skipped:
        yield "ignored files", f"not images: {count_and_name([shorten(file) for file in listing.skipped])}"
    if listing.units is not None:
        yield from (("NOTE", each) for each in note_ids(listing.unit_keys, listing.units.kind))
    yield from (("NOTE", each) for each in note_companions(listing))


def read_others(path: Path, plan: PublicPlan, began: RunConfig | None) -> PrivateDataset:
    """Read the owner's images that an option of ``evaluate`` names; see ``PrivateKind``."""
    # If a unit map named the run's units, the owner's images may lie in folders of units too.
    listing = list_folder(path, nested=plan.unit not in SINGLE)
    return load(listing, unique=False, window=window_ends(plan.data.window))


def count_drawable(folder: Path, unit_map: Path | None) -> int:
    """Return the largest number of units that a subsample could draw from each of the classes."""
    return min(_map_units(list_folder(folder, None), unit_map).count_drawable().values())


def _list(settings: RunConfig, path: Path) -> Listing:
    """List the images by name, with units if a map names them."""
    label = settings.data.domain if settings.data.unlabelled else None
    # With a map, images may lie in subfolders of class folders: the map names their units.
    listing = list_folder(path, label, nested=settings.data.unit_map is not None)
    return _map_units(listing, settings.data.unit_map)


def _map_units(listing: Listing, unit_map: Path | None) -> Listing:
    if unit_map is None:
        return listing
    from pcevolve.keeper.private.units import read_units  # needed only with a unit map

    return replace(listing, units=read_units(unit_map, listing.names))


def _test(settings: RunConfig, data: PrivateDataset, rest: Listing | None) -> PrivateDataset | None:
    if (test := find_test(settings, data)) is None:
        return None
    if test == REST and rest is not None:
        if len(set(rest.targets)) < len(rest.labels):
            raise DataError(NOTHING_LEFT.format(kind="image"))
        return load(rest, unique=False, window=window_ends(settings.data.window))
    there = list_folder(Path(test), None, nested=settings.data.unit_map is not None)
    found = load(there, unique=False, window=window_ends(settings.data.window))
    if found.labels != data.labels:
        raise UsageError(f"--test {test} must have the same class folders as --private")
    return found


def check(
    path: Path, settings: RunConfig, show_progress: ProgressCallback, write_unit_map: Path | None
) -> Checkup:
    from pcevolve.keeper.check import check_folder  # a run does not need it

    return check_folder(path, settings, show_progress, write_unit_map)


def passes_over(path: Path) -> bool:
    """True for a file of notes, which may be in a folder of images."""
    return tell_file_kind(path) is FileKind.NOTES


def make_independent(quick: bool = False) -> Evaluator:
    """Return a small network on pixels, trained from scratch; ``quick`` takes a quarter of its steps."""
    from pcevolve.keeper.evaluation.heads import QUICK_STEPS, train_cnn
    from pcevolve.keeper.evaluation.judge import Evaluator

    train = partial(train_cnn, steps=QUICK_STEPS) if quick else train_cnn
    return Evaluator(Images.independent_classifier, voted=False, look=_pixels, train=train)


def _pixels(images: Iterable[Item | None]) -> Features:
    from pcevolve.keeper.evaluation.heads import CNN_SIDE
    from pcevolve.public.encoders.singly import pixel_array

    return pixel_array(list(images), CNN_SIDE)


def find_copied_words(dataset: Labelled, private: Labelled) -> dict[str, object]:
    """Return nothing, because images have no words; see ``PrivateKind``."""
    return {}
