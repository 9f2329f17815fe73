"""From figures to a table: intervals, judges that voted last, pages that say what was measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from pcevolve.evaluation.intervals import Value
from pcevolve_benchmarks.providers import Provider
from pcevolve_benchmarks.tables.catalogue import table
from pcevolve_benchmarks.tables.cells import Cell, Figure, Place, Store, tabulate
from pcevolve_benchmarks.tables.pages import as_json, markdown
from pcevolve_benchmarks.tables.sizes import FULL


def cell(method: str, seed: int, yardstick: str = "") -> Cell:
    return Cell("digits", f'{{"method": "{method}"}}', seed, yardstick, FULL.tested, FULL.heads)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    kept = Store(tmp_path / "figures.sqlite")
    for seed, value in enumerate((0.5, 0.6, 0.7)):
        figures = [Figure("bundled", True, "accuracy", value + 0.1), Figure("cnn", False, "accuracy", value)]
        one = cell("pe", seed)
        kept.keep(one.key, (one.run, one.data, one.options, one.seed, one.yardstick), figures)
    return kept


HERE = Provider("bundled", {"model": "bundled"}, {})
PLACES = [Place("PE", "ε = 4", cell("pe", seed), HERE) for seed in range(3)] + [
    Place("random", "ε = 4", cell("random", 0), HERE)
]


def test_intervals_are_those_of_student_s_t_over_the_seeds():
    values = [0.5, 0.6, 0.7]
    low, high = student.interval(0.95, 2, np.mean(values), np.std(values, ddof=1) / np.sqrt(3))
    found = Value.of(values)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    assert Value.of(values[:2]).half is None


def test_judges_that_did_not_vote_come_first_and_who_voted_is_said(store: Store):
    tables = tabulate(PLACES, store, ("accuracy",), ("bundled", "cnn", "clip"))
    assert [(each.judge, each.voted) for each in tables] == [("cnn", False), ("bundled", True)]
    assert tables[0].values["PE", "ε = 4"].mean == pytest.approx(0.6)
    assert ("random", "ε = 4") not in tables[0].values
    page = markdown(table("table6"), tables, ["Facts."], [])
    assert page.index("Judge: cnn") < page.index("Judge: bundled (**voted**")
    assert "| PE | 60.0 ± 24.8 |" in page
    assert "| random | – |" in page
    assert as_json(tables)["cnn"]["rows"]["random"] == {}
