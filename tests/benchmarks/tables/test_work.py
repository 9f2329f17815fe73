"""What is told of a table while its runs are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pcevolve.errors import ClientError, EngineError
from pcevolve_benchmarks.tables.cells import columns_of, places
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.sizes import SMOKE
from pcevolve_benchmarks.tables.table import PE, Table, Variant
from pcevolve_benchmarks.tables.work import Asked, filled

DATA = (BenchData("digits", "handwritten mark", Path("train"), Path("test")),)
COLUMNS = tuple(Variant(f"ε = {value}", {"epsilon": value}) for value in ("4", "8"))


class Dying:
    """Workers whose every process dies."""

    def each_done(self, work, jobs: Sequence, begun) -> Iterator[tuple[object, ClientError]]:
        for job in jobs:
            begun(job)
            yield job, EngineError("it died")


def test_each_run_that_begins_is_named_by_its_number_row_column_and_seed(tmp_path: Path):
    table = Table("t", "", "", rows=(PE,), columns=COLUMNS, controls=())
    scale = replace(SMOKE, seeds=2)
    found = tuple(places(table, DATA, scale, columns_of(table, scale, (), ()), {"encoder": "bundled"}))
    asked = Asked(table, scale, found, DATA, tmp_path, ("cnn",), {}, Dying())
    said: list[str] = []
    done: list[tuple[int, int]] = []
    faults = filled(asked, lambda *each: done.append(each), said.append)
    assert said == [
        "run 1 of 4: PE, ε = 4, seed 0",
        "run 2 of 4: PE, ε = 8, seed 0",
        "run 3 of 4: PE, ε = 4, seed 1",
        "run 4 of 4: PE, ε = 8, seed 1",
    ]
    assert (len(faults), done) == (4, [(number, 4) for number in range(5)])
