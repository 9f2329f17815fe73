"""The private and the held-out images of a run: listed, drawn from, counted, and only then read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pcevolve.errors import DataError, UsageError
from pcevolve.methods import AUTO
from pcevolve.methods import method as found
from pcevolve.private.dataset import KEPT_PIXELS, PrivateDataset, loaded
from pcevolve.private.listing import Listing, listed, listed_classes, short
from pcevolve.private.sources import DigitsSource, FolderSource, TermsSource, parse_source
from pcevolve.private.subsample import subsampled
from pcevolve.private.telling import Told, nobody
from pcevolve.private.units import UnitMap, read_units, require_unit_size, with_units
from pcevolve.public.modalities import Kind
from pcevolve.run.private_texts import own_texts
from pcevolve.run.progress import error_console
from pcevolve.run.settings import REST, RunSettings
from pcevolve.run.shots import Shots

SPLIT_SEED = 0
"""Which of scikit-learn's digits play the private ones; public."""


@dataclass(frozen=True, repr=False)
class RunData:
    """What a run reads.

    Attributes:
        data: The private images.
        test: Held-out images, if there are any.
        test_is_public: Whether figures about them may be shown.
        skipped: Names of files that lie among the private images and are none.
    """

    data: PrivateDataset
    test: PrivateDataset | None
    test_is_public: bool = False
    skipped: tuple[str, ...] = ()


def read_data(settings: RunSettings, kind: Kind, told: Told = nobody) -> RunData:
    """Read what a run is asked to use.

    Args:
        settings: What was asked for.
        kind: Of the private data.
        told: Is told how many private images are read.

    Raises:
        DataError: The images cannot be used, or the classes do not hold about --shots units each.
        UsageError: The options do not go together.
    """
    source = parse_source(settings.private)
    if kind == "text":
        return read_texts(settings, source)
    if isinstance(source, DigitsSource):
        from pcevolve.private.digits import load_digits  # scikit-learn takes seconds to load

        data, rest = load_digits(settings.shots, source.names, SPLIT_SEED)
        return RunData(data, rest, test_is_public=True)
    if isinstance(source, TermsSource):
        raise UsageError("--private terms are texts, and this API makes images")
    listing, units = _listed(settings, source)
    used, rest_of_it = _drawn(settings, listing, units)
    require_shots(settings, held(used, units), "images" if units is None else f"units ({units.kind})")
    keep = 0 if settings.engine == "ray" else KEPT_PIXELS  # a cluster reads files
    data = _grouped(loaded(used, keep=keep, told=told), units)
    if settings.unit_size:
        require_unit_size(data, settings.unit_size)
    skipped = tuple(short(file) for file in listing.skipped)
    return RunData(data, _test(settings, data, rest_of_it), skipped=skipped)


def read_texts(settings: RunSettings, source: FolderSource | DigitsSource | TermsSource) -> RunData:
    """Read the texts that a run is asked to use.

    Raises:
        DataError: The texts cannot be used, or the classes do not hold about --shots units each.
        UsageError: The options do not go together.
    """
    if isinstance(source, TermsSource):
        from pcevolve.private.terms import load_terms

        return RunData(*load_terms(settings.shots, source.names, SPLIT_SEED), test_is_public=True)
    if isinstance(source, DigitsSource):
        raise UsageError("--private digits are images, and this API writes texts")
    data, rest = own_texts(settings, source)
    counts = {label: data.units_in(label) for label in data.labels}
    require_shots(
        settings, counts, "texts" if settings.unit_column is None else f"units ({settings.unit_column})"
    )
    if settings.unit_size:
        require_unit_size(data, settings.unit_size)
    return RunData(data, rest)


def held(listing: Listing, units: UnitMap | None) -> dict[str, int]:
    """How many privacy units each class of a listing has, by label; private."""
    names = unit_names(listing, units)
    found: dict[str, set[str]] = {label: set() for label in listing.labels}
    for name, target in zip(names, listing.targets, strict=True):
        found[listing.labels[target]].add(name)
    return {label: len(each) for label, each in found.items()}


def _listed(settings: RunSettings, source: FolderSource) -> tuple[Listing, UnitMap | None]:
    """The images by name, and their units where several images are one."""
    listing = listed(source.path, settings.domain if settings.unlabelled else None)
    return listing, read_units(settings.unit_map, listing.names) if settings.unit_map else None


def unit_names(listing: Listing, units: UnitMap | None) -> list[str]:
    """What the unit of each image is called."""
    return [name if units is None else units.of[name] for name in listing.names]


def _drawn(settings: RunSettings, listing: Listing, units: UnitMap | None) -> tuple[Listing, Listing | None]:
    """The images that the run uses, and the others where it draws some."""
    if settings.subsample is None:
        return listing, None
    return subsampled(listing, unit_names(listing, units), settings.subsample, settings.subsample_seed)


def _looks(method: str) -> bool:
    """Whether a method looks at private images; the controls do not."""
    return method == AUTO or found(method).selector is not None


def require_shots(settings: RunSettings, counts: Mapping[str, int], unit: str) -> None:
    """Refuse classes that do not hold about what ``--shots`` says, unless their numbers are released.

    The owner is told the counts on the screen alone. Controls, which look at nothing, may have any.

    Args:
        settings: Say what classes hold.
        counts: What they do hold, by label; private.
        unit: What is counted.

    Raises:
        DataError: They do not; nothing was spent and nothing was sent.
    """
    more = f"; pcevolve check {settings.private} tells more" if Path(settings.private).exists() else ""
    shots = Shots(counts, settings.shots)
    if shots.fit or settings.class_counts or not _looks(settings.method):
        return
    console = error_console()
    console.print(
        f"your classes hold {shots.told} {unit} each, and --shots says {settings.shots}; choose one of"
    )
    for offer in shots.offers:
        console.print(f"  {offer}")
    raise DataError(
        "the classes do not hold about as many as --shots says, so what is released about them would be wrong: "
        f"nothing was spent or sent{more}"
    )


def _grouped(data: PrivateDataset, units: UnitMap | None) -> PrivateDataset:
    return data if units is None else with_units(data, units)


def _test(settings: RunSettings, data: PrivateDataset, rest: Listing | None) -> PrivateDataset | None:
    """Held-out images of the same classes."""
    if settings.test is None:
        return None
    if len(data.labels) == 1:
        raise UsageError("--test measures a classifier, which a single class has no use for: leave it out")
    if settings.test == REST and rest is not None:
        empty = [label for target, label in enumerate(rest.labels) if target not in rest.targets]
        if empty:
            raise DataError(f"--test {REST}: class {empty[0]!r} has no image that was not drawn")
        return loaded(rest, unique=False)
    test = loaded(listed_classes(Path(settings.test)), unique=False)
    if test.labels != data.labels:
        raise UsageError(f"--test {settings.test} must have the same class folders as --private")
    return test
