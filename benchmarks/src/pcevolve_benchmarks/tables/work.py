"""Fills a table: finds out what is missing, has it carried out, and keeps what is found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from pcevolve.app.first.local_server import serve_locally
from pcevolve.errors import ClientError
from pcevolve.keeper.evaluation.closeness import FEWEST
from pcevolve_benchmarks.tables.cells import BY_ITERATION, Cell, CellStore, Place
from pcevolve_benchmarks.tables.data import BenchData, classes, locate_prompts
from pcevolve_benchmarks.tables.judges import has_embeddings, load_table_judges
from pcevolve_benchmarks.tables.sizes import DatasetFacts, TableScale
from pcevolve_benchmarks.tables.table import Measure, Table
from pcevolve_benchmarks.tables.trial import NEAREST_MEAN, Found, Job, carry_out_job
from pcevolve_benchmarks.tables.wide import WIDE
from pcevolve_benchmarks.tables.workers import Workers

ProgressCallback = Callable[[int, int], None]
Say = Callable[[str], None]


@dataclass(frozen=True)
class AskedTable:
    """A table that somebody wants.

    Attributes:
        table: Which.
        scale: How large.
        places: All of its cells.
        data: On which images.
        out: Folder of figures, runs and pages.
        judges: As ``pcevolve evaluate`` takes them.
        spending: Bounds on what a run may cost, unless its provider has its own.
        workers: Who carries out the runs.
    """

    table: Table
    scale: TableScale
    places: tuple[Place, ...]
    data: tuple[BenchData, ...]
    out: Path
    judges: tuple[str, ...]
    spending: Mapping[str, Any]
    workers: Workers

    @property
    def store(self) -> CellStore:
        """Where figures are kept."""
        return CellStore(self.out / "figures.sqlite")

    @cached_property
    def first_places(self) -> dict[str, Place]:
        """The first place of each run, by the run's name."""
        return {place.cell.run: place for place in reversed(self.places)}

    def encoder(self, cell: Cell) -> str:
        """The encoder by which a cell's run selected."""
        return str(cell.settings()["encoder"])

    def root(self, cell: Cell) -> Path:
        """Folder of a cell's run."""
        return self.out / "runs" / cell.run


def fill(asked: AskedTable, show_progress: ProgressCallback, say: Say) -> list[str]:
    """Carry out what is missing of a table.

    Args:
        asked: The table.
        show_progress: Called with the number of finished runs, from 0, and of all.
        say: Is told a line of each run that begins.

    Returns:
        A line for each run that could not be carried out; the same command tries it again.

    Raises:
        ModelError: A judge or an encoder is not at hand; nothing was begun.
        ProviderUnreachableError: There is no server.
    """
    missing = _list_missing(asked)
    if not missing:
        return []
    _require_models(asked)
    asked.out.mkdir(parents=True, exist_ok=True)
    faults = []
    show_progress(0, len(missing))
    with _serve(asked, missing) as address:
        jobs = [_job(asked, cells, address) for cells in missing]
        say(_announce(asked, jobs))
        begun = _saying(asked, len(jobs), say)
        for done, (job, found) in enumerate(asked.workers.each_done(carry_out_job, jobs, begun), 1):
            faults += _keep(asked, job, found)
            show_progress(done, len(jobs))
    return faults


def _announce(asked: AskedTable, jobs: Sequence[Job]) -> str:
    """How many runs there are, and what those of each provider may cost together."""
    most: Counter[str] = Counter()
    for job in jobs:
        if (bound := job.connection.get("max_cost")) is not None:
            most[asked.first_places[job.cells[0].run].provider.name] += bound
    bounds = "".join(f"; those of {name} cost at most {bound:g} together" for name, bound in most.items())
    return f"{len(jobs)} runs to make{bounds}"


def _saying(asked: AskedTable, total: int, say: Say) -> Callable[[Job], None]:
    """Tells of each run that begins: its number, its row, its column and its seed."""
    numbers = count(1)

    def tell_begun(job: Job) -> None:
        say(f"run {next(numbers)} of {total}: {_title(asked, job)}")

    return tell_begun


def _title(asked: AskedTable, job: Job) -> str:
    place = asked.first_places[job.cells[0].run]
    return f"{place.row}, {place.column}, seed {place.cell.seed}"


def _require_models(asked: AskedTable) -> None:
    """Say that weights are not at hand before a server is started, and not once for each run."""
    options = (json.loads(place.cell.options) for place in asked.places)
    encoders = dict.fromkeys(each["encoder"] for each in options if "encoder" in each)
    load_table_judges([*asked.judges, *encoders], None)


def _list_missing(asked: AskedTable) -> list[tuple[Cell, ...]]:
    """Cells that are not measured yet, those of one run together, in the table's order."""
    runs: dict[str, dict[str, Cell]] = {}
    for place in asked.places:
        if not _is_known(asked, place.cell):
            runs.setdefault(place.cell.run, {})[place.cell.key] = place.cell
    return [tuple(cells.values()) for cells in runs.values()]


def _is_known(asked: AskedTable, cell: Cell) -> bool:
    found = (
        {(each.judge, each.name) for each in asked.store.figures(cell.key)} if asked.out.is_dir() else set()
    )
    if cell.yardstick == "classifier":
        return (NEAREST_MEAN, "accuracy") in found
    few = cell.yardstick == "shots" and cell.settings()["subsample"] * _classes(asked, cell) < FEWEST
    wanted = {
        (judge, name)
        for judge in asked.judges
        for measure in asked.table.measures
        for name in _names(measure, judge, cell)
        if name != "fid" or not few
    }
    return wanted <= found


def _classes(asked: AskedTable, cell: Cell) -> int:
    return len(classes(next(each.train for each in asked.data if each.name == cell.data)))


def _names(measure: Measure, judge: str, cell: Cell) -> set[str]:
    """List the figures that a judge has to give of a cell before it is done."""
    if measure in ("fid", "dimension") and has_embeddings(judge) and cell.yardstick != "untrained":
        return {"accuracy", measure}
    if measure == "votes":
        return {"accuracy", "votes@1"} if DatasetFacts.of(cell.settings()["method"]).counts else {"accuracy"}
    if measure == "ensemble" and judge.startswith(WIDE) and cell.yardstick != "untrained":
        return {"accuracy", "ensemble"}
    if measure == "mixed" and not cell.yardstick:
        return {"accuracy", "mixed"}
    if measure == "noise":
        return {"accuracy", "votes cast", "noise cast"}
    if measure == "best" and not cell.yardstick:
        return {"accuracy", "best"}
    if measure in BY_ITERATION and not cell.yardstick and (measure != "loss" or has_embeddings(judge)):
        return {"accuracy", f"{BY_ITERATION[measure]}@0"}
    return {"accuracy"}


def _job(asked: AskedTable, cells: Sequence[Cell], address: str | None) -> Job:
    """A run; ``address`` is of the server that was started on this machine."""
    data = next(each for each in asked.data if each.name == cells[0].data)
    provider = asked.first_places[cells[0].run].provider
    here = {"api": address, "first_contact": 120.0} if provider.is_local else asked.spending
    prompts = cells[0].settings().get("prompts")
    own = {} if prompts is None else {"prompts": str(locate_prompts(asked.out, prompts))}
    connection = {**here, **provider.connection, **own}
    return Job(
        tuple(cells), data, asked.root(cells[0]), connection, asked.judges, frozenset(asked.table.measures)
    )


def _keep(asked: AskedTable, job: Job, found: Found | ClientError) -> list[str]:
    """Keep what a job found; a line if it found nothing."""
    if isinstance(found, ClientError):
        return [f"{_title(asked, job)}: {found}"]
    for cell, figures in found:
        facts = (cell.run, cell.data, cell.options, cell.seed, cell.yardstick)
        asked.store.keep(cell.key, facts, figures)
    return []


@contextmanager
def _serve(asked: AskedTable, missing: Sequence[Sequence[Cell]]) -> Iterator[str | None]:
    """The address of a server of this machine for as long as it takes; None where no run asks it."""
    if not any(asked.first_places[cells[0].run].provider.is_local for cells in missing):
        yield None
        return
    with serve_locally(asked.out / "server.log") as address:
        yield address
