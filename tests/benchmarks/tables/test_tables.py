"""The declarations of tables, and the cells that follow from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pcevolve_benchmarks.providers import by_flags
from pcevolve_benchmarks.tables.catalogue import TABLES, table
from pcevolve_benchmarks.tables.cells import list_columns, places
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.sizes import FULL, SMOKE, Scale
from pcevolve_benchmarks.tables.table import CONTROLS, Table

DATA = (BenchData("digits", "handwritten mark", Path("train"), Path("test")),)
COMMON = {"encoder": "bundled"}
BUNDLED = by_flags(None, ("bundled",), "getimg", None)


def placed(of: Table, scale: Scale = FULL, data: tuple[BenchData, ...] = DATA) -> list:
    columns = list_columns(of, scale, BUNDLED, ("bundled", "clip"))
    return list(places(of, data, scale, columns, BUNDLED, COMMON))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_the_controls_beside_each_column(name: str):
    found = placed(table(name), SMOKE)
    rows = {place.row for place in found}
    if name not in {"figure1", "table5"}:  # one is about votes, the other about data sets
        assert {each.name for each in CONTROLS} <= rows
    assert len(found) == len(rows) * len({place.column for place in found}) * SMOKE.seeds


def test_a_control_that_does_not_depend_on_a_column_is_one_run_in_all_of_them():
    by_epsilon = [place.cell.run for place in placed(table("table6")) if place.row == "random"]
    assert len(set(by_epsilon)) == FULL.seeds
    by_count = [place.cell.run for place in placed(table("figure4")) if place.row == "random"]
    assert len(set(by_count)) == FULL.seeds * 5


def test_all_methods_get_the_same_shots_of_a_seed():
    seeds = {(place.cell.seed, place.cell.settings()["subsample_seed"]) for place in placed(table("table1"))}
    assert seeds == {(seed, seed) for seed in range(FULL.seeds)}
