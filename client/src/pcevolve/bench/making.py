"""From what somebody typed to a finished table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pcevolve.bench.cells import FULL, SMOKE, Scale, columns_of, places
from pcevolve.bench.data import BenchData, described, digits, given
from pcevolve.bench.pages import as_json, written
from pcevolve.bench.results import Judged, judged
from pcevolve.bench.sheets import sheets
from pcevolve.bench.tables import Table, table
from pcevolve.bench.work import Asked, Told, filled
from pcevolve.errors import UsageError


@dataclass(frozen=True)
class Wanted:
    """The options of ``pcevolve bench``; see its help."""

    name: str
    smoke: bool
    data: tuple[str, ...]
    api: str | None
    models: tuple[str, ...]
    dialect: str
    api_key_file: Path | None
    encoder: str
    judges: tuple[str, ...]
    seeds: int | None
    processes: int
    out: Path

    @property
    def scale(self) -> Scale:
        """How large the runs are."""
        scale = SMOKE if self.smoke else FULL
        return scale if self.seeds is None else replace(scale, seeds=self.seeds)

    @property
    def common(self) -> dict[str, Any]:
        """Options of all runs, of which cells depend."""
        found: dict[str, Any] = {"model": self.models[0], "dialect": self.dialect, "encoder": self.encoder}
        return found if self.api is None else {**found, "api": self.api}

    @property
    def connection(self) -> dict[str, Any] | None:
        """Options of how to reach the API, of which nothing depends; None for a server on this machine."""
        if self.api is None:
            return None
        return {} if self.api_key_file is None else {"api_key_file": self.api_key_file}


@dataclass(frozen=True)
class Made:
    """A table as far as it could be made.

    Attributes:
        table: Which.
        scale: How large.
        tables: By judge.
        page: Markdown.
        faults: Runs that could not be carried out, a line each.
    """

    table: Table
    scale: Scale
    tables: tuple[Judged, ...]
    page: Path
    faults: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "table": self.table.name,
            "scale": self.scale.name,
            "seeds": self.scale.seeds,
            "measure": self.table.measure,
            "judges": as_json(self.tables),
            "page": str(self.page),
            "faults": list(self.faults),
        }


def made(wanted: Wanted, told: Told) -> Made:
    """Carry out what is missing of a table, and write its page.

    Raises:
        UsageError: There is no such table, or options do not go together.
        DataError: The images cannot be used.
    """
    asked = _asked(wanted)
    faults = filled(asked, told)
    tables = judged(asked.places, asked.store, asked.table.measure, asked.judges)
    folder = asked.out / "tables" / asked.scale.name
    folder.mkdir(parents=True, exist_ok=True)
    pictures = sheets(asked, folder) if asked.table.sheets else []
    page = written(folder, asked.table, tables, list(_facts(wanted, asked)), pictures)
    return Made(asked.table, asked.scale, tuple(tables), page, tuple(faults))


def _asked(wanted: Wanted) -> Asked:
    chosen, scale = table(wanted.name), wanted.scale
    if len(wanted.models) > 1 and chosen.name != "table2":
        raise UsageError("several models are for table2; give one --model")
    data = tuple(given(text) for text in wanted.data) or (digits(wanted.out / "data"),)
    if len({each.name for each in data}) < len(data):
        raise UsageError("--data: two data sets have the same words, by which tables tell them apart")
    columns = columns_of(chosen, scale, wanted.models)
    return Asked(
        table=chosen,
        scale=scale,
        places=tuple(places(chosen, data, scale, columns, wanted.common)),
        data=data,
        out=wanted.out,
        judges=wanted.judges,
        connection=wanted.connection,
        processes=wanted.processes,
    )


def _facts(wanted: Wanted, asked: Asked) -> Iterator[str]:
    """Sentences about what was run, for the page."""
    scale = asked.scale
    yield f"Size `{scale.name}`, unless a column says otherwise: {scale.candidates} images and {scale.shots} private"
    yield f"shots per class, ε = 10; {scale.seeds} seeds (draws of the shots, prompts' seeds and noise)."
    yield f"Images by `{', '.join(wanted.models)}`, selected by `{wanted.encoder}`."
    yield "Means, from three seeds on with 95 % intervals by Student's t; every judge trains three heads."
    yield from (_about(data) for data in asked.data)


def _about(data: BenchData) -> str:
    ((name, classes, train, test),) = described([data])
    return f"{name}: {classes} classes (chance {1 / classes:.0%}), {train} images to draw shots from, {test} held out."
