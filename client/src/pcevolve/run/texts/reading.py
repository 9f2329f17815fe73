"""The private and the held-out texts of a run: read, drawn from and counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Protocol

from pcevolve.errors import DataError, UsageError
from pcevolve.private.dataset import PrivateDataset
from pcevolve.private.records import Records, read_records
from pcevolve.private.sources import DigitsSource, FolderSource, TermsSource, parse_source
from pcevolve.private.subsample import drawable
from pcevolve.private.tables import Columns
from pcevolve.private.telling import Told, nobody
from pcevolve.private.units import require_unit_size
from pcevolve.public.plan import PublicPlan
from pcevolve.run.folder import RunFolder
from pcevolve.run.run_data import NOTHING_LEFT, SPLIT_SEED, RunData, require_shots, tell_drawable
from pcevolve.run.settings import REST, RunSettings


class NamesColumns(Protocol):
    """Options that say where a table has what."""

    @property
    def text_column(self) -> str | None:
        """Of the texts."""

    @property
    def label_column(self) -> str | None:
        """Of their classes."""

    @property
    def unit_column(self) -> str | None:
        """Of what belongs together."""


def columns_of(settings: NamesColumns) -> Columns:
    """Where a table has what."""
    usual = Columns()
    return Columns(
        settings.text_column or usual.text, settings.label_column or usual.label, settings.unit_column
    )


def of_run(settings: RunSettings, told: Told = nobody) -> RunData:
    """Read the texts that a run is asked to use.

    Raises:
        DataError: The texts cannot be used, or the classes do not hold about --shots units each.
        UsageError: The options do not go together.
    """
    source = parse_source(settings.private)
    if isinstance(source, TermsSource):
        from pcevolve.private.terms import load_terms

        return RunData(*load_terms(settings.shots, source.names, SPLIT_SEED), test_is_public=True)
    if isinstance(source, DigitsSource):
        raise UsageError("--private digits are images, and this API writes texts")
    data, rest = own_texts(settings, source)
    return RunData(data, rest)


def of_owner(given: str, plan: PublicPlan, option: str, folder: RunFolder) -> PrivateDataset:
    """The owner's texts that an option of ``evaluate`` names; see ``concerns.Reading``.

    Columns are called as in the run's own table, or as usual where the run is somebody else's.

    Raises:
        DataError: They cannot be used.
        UsageError: They are of another kind.
    """
    source = parse_source(given)
    if isinstance(source, DigitsSource):
        raise UsageError(f"{option} digits: these are images, and the run is of texts")
    if isinstance(source, TermsSource):
        from pcevolve.private.terms import load_terms

        shots, rest = load_terms(plan.shots, source.names, SPLIT_SEED)
        return shots if option == "--private" else rest
    columns = columns_of(RunSettings.load(folder.config)) if folder.config.exists() else Columns()
    return read_records(source.path, columns).dataset(None, unique=False)


def own_texts(settings: RunSettings, source: FolderSource) -> tuple[PrivateDataset, PrivateDataset | None]:
    """The texts that a run uses, and those that it is measured on, if there are any.

    Raises:
        DataError: They cannot be used.
        UsageError: The options do not go together.
    """
    columns = replace(columns_of(settings), secrets=settings.secret_columns)
    found = read_records(source.path, columns, settings.domain if settings.unlabelled else None)
    rest: Records | None = None
    counted = "texts" if columns.unit is None else f"units ({columns.unit})"
    if settings.unit_size and columns.unit is not None:
        require_unit_size(found.units, found.names, columns.unit, settings.unit_size)
    if settings.subsample is not None:
        tell_drawable(settings, to_draw_from(found), counted)
        found, rest = found.drawn(settings.subsample, settings.subsample_seed)
    data = found.dataset(columns.unit)
    counts = {label: data.units_in(label) for label in data.labels}
    require_shots(settings, counts, counted, to_draw_from(found))
    return data, _held_out(settings, data, rest)


def to_draw_from(records: Records) -> dict[str, int]:
    """How many privacy units of each class a draw could take, by label; private."""
    counts = drawable(records.unit_keys, records.targets)
    return {label: counts[target] for target, label in enumerate(sorted(set(records.labels)))}


def _held_out(settings: RunSettings, data: PrivateDataset, rest: Records | None) -> PrivateDataset | None:
    """Held-out texts of the same classes."""
    if settings.test is None:
        return None
    if len(data.labels) == 1:
        raise UsageError("--test measures a classifier, which a single class has no use for: leave it out")
    own = settings.test == REST and rest is not None
    found = rest if own else read_records(Path(settings.test), columns_of(settings))
    assert found is not None
    if missing := sorted(set(data.labels) - set(found.labels)):
        if own:
            raise DataError(NOTHING_LEFT.format(kind="text"))
        raise DataError(f"--test {settings.test}: class {missing[0]!r} has no text")
    if strange := sorted(set(found.labels) - set(data.labels)):
        raise DataError(f"--test {settings.test} has a class that --private has not: {strange[0]!r}")
    return found.dataset(None if own else columns_of(settings).unit, data.labels, unique=False)
