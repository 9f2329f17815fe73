"""Tables: their declarations, cells and inputs, the processes that carry out runs, and the pages that come of them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from scipy.stats import t as student

from pcevolve.errors import DataError, UsageError
from pcevolve.public.pages.report.charts import FigureOverSeeds
from pcevolve_benchmarks.providers import BenchProvider, by_flags
from pcevolve_benchmarks.tables.catalogue import TABLES, table
from pcevolve_benchmarks.tables.cells import (
    Cell,
    CellFigure,
    CellStore,
    Place,
    list_columns,
    places,
    tabulate,
)
from pcevolve_benchmarks.tables.data import BenchData, attach_prompts, describe_data, digits
from pcevolve_benchmarks.tables.making import WantedTable, make_table
from pcevolve_benchmarks.tables.outcomes import estimate_intrinsic_dimension
from pcevolve_benchmarks.tables.pages import as_json, markdown
from pcevolve_benchmarks.tables.sizes import FULL, SMOKE, Sizes, TableScale
from pcevolve_benchmarks.tables.table import CONTROLS, Table
from pcevolve_benchmarks.tables.workers import Processes, WorkerError
from support.folders import class_folders
from support.jobs import work
from support.served import wait_until

DATA = (BenchData("digits", "handwritten mark", Path("train"), Path("test")),)
COMMON = {"encoder": "bundled"}
BUNDLED = by_flags(None, ("bundled",), "getimg", None)


def list_places(of: Table, scale: TableScale = FULL) -> list:
    columns = list_columns(of, scale, BUNDLED, ("bundled", "clip"))
    return list(places(of, DATA, scale, columns, BUNDLED, COMMON))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_the_controls_beside_each_column(name: str):
    found = list_places(table(name), SMOKE)
    rows = {place.row for place in found}
    if name not in {"figure1", "table5"}:  # one is about votes, the other about data sets
        assert {each.name for each in CONTROLS} <= rows
    assert len(found) == len(rows) * len({place.column for place in found}) * SMOKE.seeds


def test_a_control_that_does_not_depend_on_a_column_is_one_run_in_all_of_them():
    by_epsilon = [place.cell.run for place in list_places(table("table6")) if place.row == "random"]
    assert len(set(by_epsilon)) == FULL.seeds
    by_count = [place.cell.run for place in list_places(table("figure4")) if place.row == "random"]
    assert len(set(by_count)) == FULL.seeds * 5


def test_all_methods_get_the_same_shots_of_a_seed():
    seeds = {
        (place.cell.seed, place.cell.settings()["subsample_seed"]) for place in list_places(table("table1"))
    }
    assert seeds == {(seed, seed) for seed in range(FULL.seeds)}


def cell(method: str, seed: int) -> Cell:
    return Cell("digits", f'{{"method": "{method}"}}', seed, "", FULL.tested, FULL.heads)


@pytest.fixture
def store(tmp_path: Path) -> CellStore:
    kept = CellStore(tmp_path / "figures.sqlite")
    for seed, value in enumerate((0.5, 0.6, 0.7)):
        figures = [
            CellFigure("bundled", True, "accuracy", value + 0.1),
            CellFigure("cnn", False, "accuracy", value),
        ]
        one = cell("pe", seed)
        kept.keep(one.key, (one.run, one.data, one.options, one.seed, one.yardstick), figures)
    return kept


HERE = BenchProvider("bundled", {"model": "bundled"}, {})
PLACES = [Place("PE", "ε = 4", cell("pe", seed), HERE) for seed in range(3)] + [
    Place("random", "ε = 4", cell("random", 0), HERE)
]


def test_intervals_are_those_of_student_s_t_over_the_seeds():
    values = [0.5, 0.6, 0.7]
    low, high = student.interval(0.95, 2, np.mean(values), np.std(values, ddof=1) / np.sqrt(3))
    found = FigureOverSeeds.of(values)
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    assert FigureOverSeeds.of(values[:2]).half is None


def test_judges_that_did_not_vote_come_first_and_who_voted_is_said(store: CellStore):
    tables = tabulate(PLACES, store, ("accuracy",), ("bundled", "cnn", "clip"))
    assert [(each.judge, each.voted) for each in tables] == [("cnn", False), ("bundled", True)]
    assert tables[0].values["PE", "ε = 4"].mean == pytest.approx(0.6)
    assert ("random", "ε = 4") not in tables[0].values
    page = markdown(table("table6"), tables, ["Facts."], [])
    assert page.index("Judge: cnn") < page.index("Judge: bundled (**voted**")
    assert "| PE | 60.0 ± 24.8 |" in page
    assert "| random | – |" in page
    assert as_json(tables)["cnn"]["rows"]["random"] == {}


pytestmark = pytest.mark.system


def test_a_process_that_dies_is_a_fault_of_its_job_and_the_others_are_done():
    jobs = ["one", "die", "refuse", "two", "three"]
    begun: list[str] = []
    found = dict(Processes(2).each_done(work, jobs, begun.append))
    assert sorted(begun) == sorted(jobs)
    assert isinstance(found["die"], WorkerError)
    assert isinstance(found["refuse"], DataError)
    assert {name: found[name] for name in ("one", "two", "three")} == {"one": 3, "two": 3, "three": 5}


def test_workers_end_with_the_command_that_is_killed(tmp_path: Path):
    code = (
        "from pcevolve_benchmarks.tables.workers import Processes\nfrom support.jobs import work\n"
        f"list(Processes(2).each_done(work, ['sleep {tmp_path}', 'sleep {tmp_path}'], print))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = psutil.Popen([sys.executable, "-c", code], env=environment)
    wait_until(lambda: len(list(tmp_path.iterdir())) == 2, 300)
    workers = command.children(recursive=True)
    assert len(workers) >= 2
    command.kill()
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive


LABELS = ("cut", "good")


def test_digits_are_written_once_and_no_image_is_in_both_parts(tmp_path: Path):
    found = digits(tmp_path)
    assert describe_data([found])[0][:3] == ("digits", 3, 270)
    parts = [{path.read_bytes() for path in part.rglob("*.png")} for part in (found.train, found.test)]
    assert not parts[0] & parts[1]
    marker = next(found.train.rglob("*.png"))
    marker.unlink()
    assert digits(tmp_path) == found
    assert not marker.exists()


PROMPTS = {label: [f"A leather texture image with {label}", f"Worn leather with {label}"] for label in LABELS}


def write_prompts(folder: Path, prompts: dict[str, list[str]] = PROMPTS) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps(prompts))
    return path


def make_wanted(folder: Path, workers: object = None, data: int = 1, **changes: object) -> WantedTable:
    sources = [folder / f"data {number}" for number in range(data)]
    for root in sources:
        for part in ("train", "test"):
            class_folders(root / part, 0, LABELS, shots=2)
    values = {
        "name": "table1",
        "size": "smoke",
        "data": tuple(f"leather {number}={root}" for number, root in enumerate(sources)),
        "providers": by_flags("http://127.0.0.1:9", ("bundled",), "getimg", None),
        "encoders": (),
        "judges": ("cnn",),
        "seeds": 1,
        "workers": workers,
        "out": folder / "out",
        "sizes": Sizes(subsample=2),
        "le_prompts": write_prompts(folder),
    }
    return WantedTable(**{**values, **changes})


def test_a_cell_depends_on_what_the_file_says_and_not_on_where_it_lies(tmp_path: Path):
    first = attach_prompts(table("table1"), write_prompts(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    assert attach_prompts(table("table1"), write_prompts(tmp_path / "elsewhere")) == first
    other = {label: each[:1] for label, each in PROMPTS.items()}
    assert attach_prompts(table("table1"), write_prompts(tmp_path, other)) != first


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "table6"}, "--le-prompts: the table 'table6' has no row LE: leave it out"),
        ({"data": 2}, "--le-prompts names the classes of one data set"),
        ({"le_prompts": Path("nowhere.json")}, "--le-prompts nowhere.json: No such file"),
    ],
)
def test_prompts_that_a_table_has_no_use_for_are_refused(tmp_path: Path, changes: dict, complaint: str):
    with pytest.raises(UsageError, match=complaint):
        make_table(make_wanted(tmp_path, **changes), lambda done, total: None, print)


def test_of_an_intrinsic_dimension_neither_scale_nor_copies_nor_missing_rows_matter():
    random = np.random.default_rng(0)
    points = random.normal(size=(500, 3))
    found = estimate_intrinsic_dimension(points)
    assert estimate_intrinsic_dimension(points * 1e6) == pytest.approx(found)
    assert estimate_intrinsic_dimension(
        np.concatenate([points, points[:100], np.full((3, 3), np.nan)])
    ) == pytest.approx(found)
