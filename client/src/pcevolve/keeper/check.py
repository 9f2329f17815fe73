"""Inspect a private folder or table before any run, and list faults with remedies; nothing is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from shlex import quote
from typing import Any

from pcevolve.errors import DataError
from pcevolve.keeper.kind import load_kind
from pcevolve.keeper.private.inspection import MOST_COMPARED, MOST_TURNED, Inspection, Pair, inspect
from pcevolve.keeper.private.listing import Listing, list_folder, read_head, shorten
from pcevolve.keeper.private.offers import describe_counts, list_offers, price_subsample
from pcevolve.keeper.private.records import Records, read_records
from pcevolve.keeper.private.tables import Columns
from pcevolve.keeper.private.units import (
    describe_link,
    map_folders,
    read_units,
    require_unit_size,
    write_units,
)
from pcevolve.keeper.private_data import (
    Shots,
    count_and_name,
    note_companions,
    note_ids,
    trusts_shots,
)
from pcevolve.public import settings as public
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.data_source import BUNDLED
from pcevolve.public.config.owner import OwnerData
from pcevolve.public.dialects import find_abilities
from pcevolve.public.figures import spell_count
from pcevolve.public.media.images.kinds import tell_format
from pcevolve.public.media.images.levels import REFUSED, Seen
from pcevolve.public.modality import MODALITIES, Kind
from pcevolve.public.run.checked import find_foreign_options, find_unused_namespace
from pcevolve.public.screen import ProgressCallback

LABEL = "images"
"""Label of the only class when a folder has no class folders."""


@dataclass(frozen=True, repr=False)
class Checkup:
    """The findings about a folder, in words; for the owner's screen alone."""

    rows: tuple[tuple[str, str], ...]
    faults: tuple[str, ...]
    warnings: tuple[str, ...]
    files: int = 0
    units: Mapping[str, int] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    @property
    def fit(self) -> bool:
        """True if a run would accept the folder as it is."""
        return not self.faults

    def as_dict(self) -> dict[str, Any]:
        return {
            "fit": self.fit,
            "found": dict(self.rows),
            "faults": list(self.faults),
            "warnings": list(self.warnings),
        }


def check_data(
    path: Path, settings: RunConfig, show_progress: ProgressCallback, write_unit_map: Path | None = None
) -> Checkup:
    """Inspect private data of the kind that ``find_kind`` names; see ``check_folder`` and ``check_texts``."""
    return load_kind(find_kind(path, settings)).check(path, settings, show_progress, write_unit_map)


def find_kind(path: Path, settings: RunConfig) -> Kind:
    """Return the kind of data that the API makes; for a table, the first kind that can be read from tables."""
    made = find_abilities(settings.provider.dialect).makes
    if path.is_file() and not MODALITIES[made].from_tables:
        return next(kind for kind, each in MODALITIES.items() if each.from_tables)
    return made


def check_folder(
    folder: Path, settings: RunConfig, show_progress: ProgressCallback, write_unit_map: Path | None = None
) -> Checkup:
    """Inspect a private folder of images; each image is read once and none is kept.

    Args:
        write_unit_map: Path of a unit map to write for ``--unit-map``; each folder within a class folder
            becomes a unit.
    """
    meant = settings.data
    try:
        nested = meant.unit_map is not None
        listing = list_folder(folder, LABEL if meant.unlabelled else None, strict=False, nested=nested)
    except DataError as error:  # its contents are unknown
        return Checkup((), (str(error),), ())
    if not listing.files and any(file.suffix.lower() == ".txt" for file in listing.skipped):
        command = f"pcevolve check {quote(str(folder))} --dialect chat"
        return Checkup((), (f"{folder} contains texts and no images: to check texts, use {command}",), ())
    if write_unit_map is not None:
        write_units(write_unit_map, listing.names)
        mapped = settings if meant.unit_map else settings.changed(unit_map=write_unit_map)
        found_with_map = check_folder(folder, mapped, show_progress)
        written = f"{write_unit_map} was written: give --unit-map {quote(str(write_unit_map))} to the run"
        return replace(found_with_map, warnings=(written, *found_with_map.warnings))
    unit_faults, units_known = [], False
    if not (meant.unit_map and listing.faults):  # files to be moved are not yet at the paths in the map
        try:
            listing, units_known = _with_units(listing, meant), True
            if meant.unit_size and listing.units is not None:
                require_unit_size(listing.unit_keys, listing.names, listing.units.kind, meant.unit_size)
        except DataError as error:
            unit_faults.append(str(error))
    window = public.window_ends(meant.window)
    done = count(1)
    found = inspect(listing, lambda: show_progress(next(done), len(listing.files)), window)
    before = [*listing.faults, *unit_faults, *found.faults, *_twin_faults(found)]
    # The right --shots is known only after all files are moved, fixed or left out.
    own = [] if before else find_shot_faults(listing.count_units(), listing.count_drawable(), settings)
    faults = [
        *find_foreign_options(settings, "image"),
        *find_unused_namespace(settings),
        *before,
        *_find_class_faults(len(listing.labels)),
        *own,
    ]
    rows = [*_rows(found, units_known), _fits(meant, before, own), _count_faults(faults)]
    return Checkup(
        *(tuple(rows), tuple(faults), tuple(_warnings(found, units_known)), len(listing.files)),
        listing.count_units() if units_known else {},
        tuple(listing.labels),
    )


def _with_units(listing: Listing, meant: OwnerData) -> Listing:
    """Add units to a listing: from the unit map, otherwise from the folders within class folders.

    Raises:
        DataError: The unit map is unusable.
    """
    if meant.unit_map:
        return replace(listing, units=read_units(meant.unit_map, listing.names))
    return listing if meant.unlabelled else replace(listing, units=map_folders(listing.names))


def _rows(found: Inspection, units_known: bool) -> Iterator[tuple[str, str]]:
    listing = found.listing
    yield "classes", f"{len(listing.labels)}: {', '.join(listing.labels)}"
    if units_known:
        yield _count_units(listing.count_units(), "image" if listing.units is None else listing.units.kind)
    yield "images", _images(listing)
    yield "sizes", _sizes(found)
    yield "pixel values", _values(found)
    yield "skipped", count_and_name([shorten(file) for file in listing.skipped])
    yield "identical pixels", count_and_name([_pair(found, pair) for pair in found.twins])
    if units_known:
        alike = count_and_name([_pair(found, pair) for pair in found.alike])
        alike += (
            ""
            if found.turned
            else f"; rotated or cropped images are not searched for in more than {MOST_TURNED:,} images"
        )
        unsought = f"not searched for in more than {MOST_COMPARED:,} images"
        yield "similar images in different units", alike if found.compared else unsought


def _count_units(counts: Mapping[str, int], unit: str) -> tuple[str, str]:
    return f"units per class (one {unit} each)", ", ".join(f"{label} {n}" for label, n in counts.items())


def _fits(meant: OwnerData, before: Sequence[str], own: Sequence[str]) -> tuple[str, str]:
    """Return the row that states whether the number of units fits the options."""
    return (
        f"fits {spell_units(meant)}",
        "not known until the other problems are fixed" if before else "NO" if own else "yes",
    )


def _count_faults(faults: Sequence[str]) -> tuple[str, str]:
    return "would be refused", f"{len(faults)} problems, listed below" if faults else "nothing"


def _images(listing: Listing) -> str:
    kinds = Counter(_kind(file) for file in listing.files)
    return f"{len(listing.files)}" + (
        f": {', '.join(f'{n} {kind}' for kind, n in sorted(kinds.items()))}" if kinds else ""
    )


def _kind(file: Path) -> str:
    """Return an image's format, which is read from the file's content; the file's name does not matter."""
    return tell_format(read_head(file)) or "damaged"


def _sizes(found: Inspection) -> str:
    if not found.sizes:
        return "none could be read"
    small = min(found.sizes, key=lambda size: size[0] * size[1])
    large = max(found.sizes, key=lambda size: size[0] * size[1])
    same, read = f"{small[0]}x{small[1]}", len(found.sizes)
    if len(set(found.sizes)) == 1:
        return f"{'all' if read == len(found.listing.files) else f'{read} of them'} {same}"
    return f"{same} to {large[0]}x{large[1]}, as stored"


def _values(found: Inspection) -> str:
    """Describe the range of pixel values, one range for each way in which images are shown."""
    by: dict[str, list[Seen]] = {}
    for each in found.seen:
        by.setdefault(each.how, []).append(each)
    return (
        "; ".join(
            f"{spell_count(len(some), 'image')} {how} (range {min(each.low for each in some):g} to "
            f"{max(each.high for each in some):g})"
            for how, some in sorted(by.items())
        )
        or "none could be read"
    )


def _pair(found: Inspection, pair: Pair) -> str:
    one, other = (shorten(found.listing.files[place]) for place in pair)
    return f"{one} = {other}"


def _twin_faults(found: Inspection) -> Iterator[str]:
    for one, other in found.twins:
        first, second = (shorten(found.listing.files[place]) for place in (one, other))
        classes = "" if found.listing.targets[one] == found.listing.targets[other] else ", in another class"
        yield f"{second} has the same pixels as {first}{classes}: remove one of them"


def spell_source(folder: Path) -> str:
    """Return a folder as a value of ``--private``; a folder named like a bundled dataset is prefixed with ``./``."""
    return f"./{folder}" if str(folder) in BUNDLED else str(folder)


def spell_units(meant: OwnerData) -> str:
    """Return the number of units as the user typed it."""
    return f"--shots {meant.shots}" if meant.subsample is None else f"--set data.subsample={meant.subsample}"


def _find_class_faults(classes: int) -> list[str]:
    """Return a fault if there are more classes than a plan may have."""
    if classes <= public.MOST_CLASSES:
        return []
    return [
        f"there are {classes:,} classes, but a run can use at most {public.MOST_CLASSES:,}: leave some out"
    ]


def find_shot_faults(
    counts: Mapping[str, int], drawable: Mapping[str, int], settings: RunConfig
) -> list[str]:
    """List faults in the number of units for which a run would be refused.

    Args:
        counts: Number of units of each class, by label; private.
        drawable: Number of units of each class that a subsample could draw, by label; private.
    """
    meant = settings.data
    there = {label: held for label, held in counts.items() if held}
    if not there:
        return []
    shots, most = Shots(there, meant.shots), min(drawable[label] for label in there)
    held = describe_counts(shots)
    if meant.subsample is not None:
        if meant.subsample <= most:
            return []
        return [
            f"the classes hold {held} units each, but data.subsample draws {meant.subsample} units of "
            "each class" + (f": give '--set data.subsample={most}' or fewer" if most else "")
        ]
    if shots.fit or not trusts_shots(settings):
        return []
    offers = "; or ".join(list_offers(shots, most, partial(price_subsample, settings, len(there))))
    return [f"the classes hold {held} units each, but --shots is {meant.shots}: give {offers}"]


def _warnings(found: Inspection, units_known: bool) -> Iterator[str]:
    """Advise on ``data.window``; warn of empty images, and of look-alikes that count as different units."""
    if any(each.how == REFUSED for each in found.seen):
        yield (
            "data.window becomes part of the public plan: choose LOW,HIGH by the modality, such as "
            "-160,240 for soft tissue in CT (plus any offset of the files), and not by these images"
        )
    if found.flat:
        names = count_and_name([shorten(found.listing.files[place]) for place in found.flat])
        yield f"images that show almost nothing (black, white or one grey): {names}"
    if not units_known:
        return
    if found.listing.units is not None:
        yield from note_ids(found.listing.unit_keys, found.listing.units.kind)
        yield describe_link(found.listing.units.kind)
    yield from note_companions(found.listing)
    targets = found.listing.targets
    across = [pair for pair in found.alike if targets[pair[0]] != targets[pair[1]]]
    within = len(found.alike) - len(across)
    if across:
        yield (
            f"{spell_count(len(across), 'pair')} of images in different classes look alike, perhaps "
            f"rotated or cropped, such as {_pair(found, across[0])}. Each image counts as a separate "
            "unit. Check that the labels are right"
        )
    if within:
        yield (
            f"{spell_count(within, 'pair')} of images within a class look alike, perhaps rotated or "
            "cropped. Each image counts as a separate unit. If a pair shows the same patient or object, "
            "the guarantee covers each image, not the patient: group such images with --unit-map"
        )


def check_texts(path: Path, settings: RunConfig) -> Checkup:
    """Inspect a table or a folder of private texts."""
    meant = settings.data
    columns = Columns.from_options(meant.text_column, meant.label_column, meant.unit_column)
    try:
        records = read_records(path, columns, "texts" if meant.unlabelled else None, strict=False)
    except DataError as error:  # its contents are unknown
        return Checkup((), (str(error),), ())
    if not records.names:
        return Checkup((), records.faults, ())
    before = list(records.faults)
    try:
        records.dataset(columns.unit)
        if meant.unit_size and columns.unit is not None:
            require_unit_size(records.units, records.names, columns.unit, meant.unit_size)
    except DataError as error:
        before.append(str(error))
    counts = records.count_units()
    own = [] if before else find_shot_faults(counts, records.count_drawable(), settings)
    foreign = (*find_foreign_options(settings, "text"), *find_unused_namespace(settings))
    faults = [*foreign, *before, *_find_class_faults(len(counts)), *own]
    rows = [*_text_rows(records, columns, counts), _fits(meant, before, own), _count_faults(faults)]
    notes = [*note_ids(records.units, columns.unit), describe_link(columns.unit)] if columns.unit else []
    return Checkup(tuple(rows), tuple(faults), tuple(notes), len(records.texts), counts, tuple(counts))


def _text_rows(records: Records, columns: Columns, counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    lengths = sorted(len(text.split()) for text in records.texts)
    yield "classes", f"{len(counts)}: {', '.join(counts)}"
    yield _count_units(counts, columns.unit or "text")
    yield "texts", f"{len(records.texts)}"
    yield "words", f"{lengths[0]} to {lengths[-1]}, median {lengths[len(lengths) // 2]}"
