"""The private and the held-out images of a run: listed, drawn from, counted, and only then read."""

from __future__ import annotations

from pathlib import Path

from pcevolve.errors import DataError, UsageError
from pcevolve.private.dataset import KEPT_PIXELS, PrivateDataset, load_folder, loaded
from pcevolve.private.listing import Listing, listed, short
from pcevolve.private.sources import DigitsSource, FolderSource, TermsSource, parse_source
from pcevolve.private.subsample import drawable, subsampled
from pcevolve.private.telling import Told, nobody
from pcevolve.private.units import UnitMap, read_units, require_unit_size, with_units
from pcevolve.public.plan import PublicPlan
from pcevolve.public.settings import window_ends
from pcevolve.run.folder import RunFolder
from pcevolve.run.run_data import NOTHING_LEFT, SPLIT_SEED, RunData, require_shots, tell_drawable
from pcevolve.run.settings import REST, RunSettings


def of_run(settings: RunSettings, told: Told = nobody) -> RunData:
    """Read the images that a run is asked to use.

    Args:
        settings: What was asked for.
        told: Is told how many private images are read.

    Raises:
        DataError: The images cannot be used, or the classes do not hold about --shots units each.
        UsageError: The options do not go together.
    """
    source = parse_source(settings.private)
    if isinstance(source, DigitsSource):
        from pcevolve.private.digits import load_digits  # scikit-learn takes seconds to load

        data, rest = load_digits(settings.shots, source.names, SPLIT_SEED)
        return RunData(data, rest, test_is_public=True)
    if isinstance(source, TermsSource):
        raise UsageError("--private terms are texts, and this API makes images")
    listing, units = _listed(settings, source)
    if settings.unit_size and units is not None:
        require_unit_size(unit_names(listing, units), listing.names, units.kind, settings.unit_size)
    used, rest_of_it = _drawn(settings, listing, units)
    require_shots(settings, held(used, units), _counted(units), to_draw_from(used, units))
    keep = 0 if settings.engine == "ray" else KEPT_PIXELS  # a cluster reads files
    window = window_ends(settings.window)
    data = _grouped(loaded(used, keep=keep, told=told, window=window), units)
    skipped = tuple(short(file) for file in listing.skipped)
    return RunData(data, _test(settings, data, rest_of_it), skipped=skipped)


def of_owner(given: str, plan: PublicPlan, option: str, folder: RunFolder) -> PrivateDataset:
    """The owner's images that an option of ``evaluate`` names; see ``concerns.Reading``.

    Raises:
        DataError: They cannot be used.
        UsageError: They are of another kind.
    """
    source = parse_source(given)
    if isinstance(source, TermsSource):
        raise UsageError(f"{option} {given}: these are texts, and the run is of images")
    if isinstance(source, DigitsSource):
        from pcevolve.private.digits import load_digits  # scikit-learn's data take seconds to load

        shots, rest = load_digits(plan.shots, source.names, SPLIT_SEED)
        return shots if option == "--private" else rest
    return load_folder(source.path, unique=False, window=window_ends(plan.window))


def held(listing: Listing, units: UnitMap | None) -> dict[str, int]:
    """How many privacy units each class of a listing has, by label; private."""
    names = unit_names(listing, units)
    found: dict[str, set[str]] = {label: set() for label in listing.labels}
    for name, target in zip(names, listing.targets, strict=True):
        found[listing.labels[target]].add(name)
    return {label: len(each) for label, each in found.items()}


def to_draw_from(listing: Listing, units: UnitMap | None) -> dict[str, int]:
    """How many privacy units of each class a draw could take, by label; private."""
    counts = drawable(unit_names(listing, units), listing.targets)
    return {label: counts.get(target, 0) for target, label in enumerate(listing.labels)}


def most_to_draw(folder: Path, unit_map: Path | None) -> int:
    """Units of each class that ``--subsample`` can draw of a folder of class folders, all classes alike; 0 for none."""
    listing = listed(folder, None)
    return min(to_draw_from(listing, read_units(unit_map, listing.names) if unit_map else None).values())


def _counted(units: UnitMap | None) -> str:
    """What is counted, in words."""
    return "images" if units is None else f"units ({units.kind})"


def _listed(settings: RunSettings, source: FolderSource) -> tuple[Listing, UnitMap | None]:
    """The images by name, and their units where several images are one."""
    nested = settings.unit_map is not None  # which says of every image in a folder of its own whose it is
    listing = listed(source.path, settings.domain if settings.unlabelled else None, nested=nested)
    return listing, read_units(settings.unit_map, listing.names) if settings.unit_map else None


def unit_names(listing: Listing, units: UnitMap | None) -> list[str]:
    """What the unit of each image is called."""
    return [name if units is None else units.of[name] for name in listing.names]


def _drawn(settings: RunSettings, listing: Listing, units: UnitMap | None) -> tuple[Listing, Listing | None]:
    """The images that the run uses, and the others where it draws some."""
    if settings.subsample is None:
        return listing, None
    tell_drawable(settings, to_draw_from(listing, units), _counted(units))
    return subsampled(listing, unit_names(listing, units), settings.subsample, settings.subsample_seed)


def _grouped(data: PrivateDataset, units: UnitMap | None) -> PrivateDataset:
    return data if units is None else with_units(data, units)


def _test(settings: RunSettings, data: PrivateDataset, rest: Listing | None) -> PrivateDataset | None:
    """Held-out images of the same classes."""
    if settings.test is None:
        return None
    if len(data.labels) == 1:
        raise UsageError("--test measures a classifier, which a single class has no use for: leave it out")
    if settings.test == REST and rest is not None:
        if len(set(rest.targets)) < len(rest.labels):
            raise DataError(NOTHING_LEFT.format(kind="image"))
        return loaded(rest, unique=False, window=window_ends(settings.window))
    there = listed(Path(settings.test), None, nested=settings.unit_map is not None)
    test = loaded(there, unique=False, window=window_ends(settings.window))
    if test.labels != data.labels:
        raise UsageError(f"--test {settings.test} must have the same class folders as --private")
    return test
