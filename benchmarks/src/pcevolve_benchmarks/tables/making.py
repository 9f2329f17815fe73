"""From what somebody typed to a finished table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pcevolve.errors import UsageError
from pcevolve.public.figures import USUAL_DELTA, parse_epsilon
from pcevolve.public.privacy import Budget
from pcevolve.public.selectors import Scope
from pcevolve_benchmarks.providers import BenchProvider
from pcevolve_benchmarks.tables.catalogue import TABLES, table
from pcevolve_benchmarks.tables.cells import Judged, list_columns, places, tabulate
from pcevolve_benchmarks.tables.data import (
    PAPERS_DATA,
    BenchData,
    attach_prompts,
    data_table,
    describe_data,
    digits,
    keep_prompts,
    read_data,
    saturate,
)
from pcevolve_benchmarks.tables.pages import as_json, write_page
from pcevolve_benchmarks.tables.sheets import sheets
from pcevolve_benchmarks.tables.sizes import FULL, SMOKE, USUAL_EPSILON, DatasetFacts, Sizes, TableScale
from pcevolve_benchmarks.tables.table import Measure, Table
from pcevolve_benchmarks.tables.work import AskedTable, ProgressCallback, Say, fill
from pcevolve_benchmarks.tables.workers import Workers

BUNDLED = ("bundled", "bundled+spectrum")
"""Encoders that need no download."""


@dataclass(frozen=True)
class WantedTable:
    """The options of ``pcevolve-bench table``; see its help."""

    name: str
    size: Literal["smoke", "full", "paper"]
    data: tuple[str, ...]
    providers: tuple[BenchProvider, ...]
    encoders: tuple[str, ...]
    judges: tuple[str, ...]
    seeds: int | None
    workers: Workers
    out: Path
    sizes: Sizes = field(default_factory=Sizes)
    le_prompts: Path | None = None

    @cached_property
    def table(self) -> Table:
        """The table that is wanted; its row LE has the prompts that were given.

        Raises:
            UsageError: There is no such table, it has no row LE, or there is no such file.
        """
        found = table(self.name)
        return found if self.le_prompts is None else attach_prompts(found, self.le_prompts)

    @property
    def scale(self) -> TableScale:
        """How large the runs are."""
        scale = (
            FULL.of_paper(self.table.original)
            if self.size == "paper"
            else SMOKE
            if self.size == "smoke"
            else FULL
        )
        scale = self.sizes.scale(scale)
        return scale if self.seeds is None else replace(scale, seeds=self.seeds)

    @property
    def selecting(self) -> tuple[str, ...]:
        """The encoders that select: those that were named, or the paper's, or what is at hand."""
        if self.encoders:
            return self.encoders
        if self.size == "paper":
            return (self.table.original.encoder,)
        return BUNDLED if self.table.by == "encoder" else BUNDLED[:1]

    @property
    def asked_judges(self) -> tuple[str, ...]:
        """Who judges: those that were named, or a network from scratch and the encoder that selects."""
        return self.judges or ("cnn", self.selecting[0])

    @property
    def common(self) -> dict[str, Any]:
        """Options of all runs, of which cells depend."""
        papers = self.table.original.options if self.size == "paper" else {}
        return {"encoder": self.selecting[0], **papers, **self.sizes.selecting}


@dataclass(frozen=True)
class MadeTable:
    """A table as far as it could be made.

    Attributes:
        table: Which.
        scale: How large.
        tables: By judge.
        page: Markdown.
        faults: Runs that could not be carried out, a line each.
    """

    table: Table
    scale: TableScale
    tables: tuple[Judged, ...]
    page: Path
    faults: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """For programs: what the table is about under ``judges``, what else was measured under ``also``."""
        first, *rest = self.table.measures or ("accuracy",)
        return {
            "table": self.table.name,
            "scale": self.scale.name,
            "seeds": self.scale.seeds,
            "measure": first,
            "judges": as_json(self._of(first)),
            "also": {measure: as_json(self._of(measure)) for measure in rest},
            "page": str(self.page),
            "faults": list(self.faults),
        }

    def _of(self, measure: Measure) -> list[Judged]:
        return [each for each in self.tables if each.measure == measure]


def make_table(wanted: WantedTable, show_progress: ProgressCallback, say: Say) -> MadeTable:
    """Carry out what is missing of a table, and write its page.

    Raises:
        UsageError: There is no such table, or options do not go together.
        DataError: The images cannot be used.
    """
    asked = _ask(wanted)
    faults = fill(asked, show_progress, say)
    tables = tabulate(asked.places, asked.store, asked.table.measures, asked.judges)
    folder = asked.out / "tables" / asked.scale.name
    folder.mkdir(parents=True, exist_ok=True)
    pictures = sheets(asked, folder) if asked.table.sheets else []
    facts = list(_facts(wanted, asked)) if asked.places else [f"The paper's own: {PAPERS_DATA}"]
    below = [] if asked.places else data_table(asked.data)
    page = write_page(folder, asked.table, tables, facts, pictures, below)
    return MadeTable(asked.table, asked.scale, tuple(tables), page, tuple(faults))


def _ask(wanted: WantedTable) -> AskedTable:
    chosen, scale = wanted.table, wanted.scale
    for what, named in (("provider", wanted.providers), ("encoder", wanted.selecting)):
        if len(named) > 1 and chosen.by != what:
            those = " and ".join(each.name for each in TABLES.values() if each.by == what)
            raise UsageError(f"several {what}s are for {those}: name one")
    data = _data(wanted)
    if wanted.le_prompts is not None:
        keep_prompts(wanted.le_prompts, data, wanted.out)
    if len({each.name for each in data}) < len(data):
        raise UsageError("--data: two data sets have the same words, by which tables tell them apart")
    columns = list_columns(chosen, scale, wanted.providers, wanted.selecting)
    return AskedTable(
        table=chosen,
        scale=scale,
        places=tuple(places(chosen, data, scale, columns, wanted.providers, wanted.common)),
        data=data,
        out=wanted.out,
        judges=wanted.asked_judges,
        spending=wanted.sizes.spending,
        workers=wanted.workers,
    )


def _data(wanted: WantedTable) -> tuple[BenchData, ...]:
    """The data sets that were named, or digits; of a table of saturations each of them at every one."""
    factors = wanted.table.saturations[: wanted.scale.columns]
    folder = wanted.out / "data"
    named = tuple(read_data(text) for text in wanted.data) or (digits(folder, painted=bool(factors)),)
    return tuple(saturate(each, factor, folder) for each in named for factor in factors) or named


def _facts(wanted: WantedTable, asked: AskedTable) -> Iterator[str]:
    """Sentences about what was run, for the page."""
    scale = asked.scale
    yield f"Size `{scale.name}`, unless a column says otherwise: {scale.candidates} images and {scale.shots} private"
    yield f"shots per class, ε = {wanted.sizes.epsilon or USUAL_EPSILON};"
    yield f"{scale.seeds} {'seed' if scale.seeds == 1 else 'seeds'} (draws of the shots, prompts' seeds and noise)."
    yield from _iterations(wanted, asked)
    if any(row.options.get("method") == "gcap" for row in asked.table.rows):
        yield f"GCap's captions: {wanted.sizes.captioner or 'measured attributes, without a model'}."
    yield f"The paper's own: {asked.table.original.spelled}."
    makers = ", ".join(each.about for each in wanted.providers)
    yield f"Images by {makers}, selected by `{', '.join(wanted.selecting)}`."
    yield f"Means, from three seeds on with 95 % intervals by Student's t; of heads each judge trains {scale.heads}."
    yield from (_about(data) for data in asked.data)


def _iterations(wanted: WantedTable, asked: AskedTable) -> Iterator[str]:
    """How many rounds each method has: where nobody says, their own numbers differ, which is part of the comparison."""
    scale, classes = asked.scale, max(count for _, count, *_ in describe_data(asked.data))
    budget = Budget(parse_epsilon(wanted.sizes.epsilon or USUAL_EPSILON), USUAL_DELTA)
    scope = Scope("replace-one", 1, classes, scale.shots, scale.candidates)
    names = dict.fromkeys(row.options["method"] for row in asked.table.rows if not row.yardstick)
    rounds = {name: DatasetFacts.of(name).iterations(scale.rounds, budget, scope) for name in names}
    yield f"Iterations T: {', '.join(f'{name} {count}' for name, count in rounds.items())}."


def _about(data: BenchData) -> str:
    ((name, classes, train, test),) = describe_data([data])
    return f"{name}: {classes} classes (chance {1 / classes:.0%}), {train} images to draw shots from, {test} held out."
