"""Prompts of a person's own for the row LE of a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.errors import EngineError, UsageError
from pcevolve_benchmarks.tables.catalogue import table
from pcevolve_benchmarks.tables.data import with_prompts
from pcevolve_benchmarks.tables.making import Wanted, made
from pcevolve_benchmarks.tables.sizes import Sizes
from support.shots import LABELS, shots

PROMPTS = {label: [f"A leather texture image with {label}", f"Worn leather with {label}"] for label in LABELS}
ROW = "LE (prompts of mine.json)"


class Dying:
    """Workers whose every process dies; they keep the options of the runs that they were given."""

    def __init__(self) -> None:
        self.settings = {}

    def each_done(self, work, jobs, begun):
        for job in jobs:
            self.settings[job.options["method"]] = job.settings
            yield job, EngineError("it died")


def written(folder: Path, prompts: dict[str, list[str]] = PROMPTS) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps(prompts))
    return path


def wanted(folder: Path, workers: object = None, data: int = 1, **changes: object) -> Wanted:
    sources = [folder / f"data {number}" for number in range(data)]
    for root in sources:
        for part in ("train", "test"):
            shots(root / part)
    values = {
        "name": "table1",
        "size": "smoke",
        "data": tuple(f"leather {number}={root}" for number, root in enumerate(sources)),
        "api": "http://127.0.0.1:9",
        "models": ("bundled",),
        "dialect": "getimg",
        "api_key_file": None,
        "encoders": (),
        "judges": ("cnn",),
        "seeds": 1,
        "workers": workers,
        "out": folder / "out",
        "sizes": Sizes(subsample=2),
        "le_prompts": written(folder),
    }
    return Wanted(**{**values, **changes})


def test_the_row_has_the_prompts_that_were_given_and_they_are_kept_with_the_runs(tmp_path: Path):
    workers = Dying()
    found = made(wanted(tmp_path, workers), lambda done, total: None, print)
    rows = [row.name for row in found.table.rows]
    assert ROW in rows
    assert "LE (grammar)" not in rows
    given = Path(workers.settings["le"].provider.prompts)
    assert given.parent == tmp_path / "out" / "prompts"
    assert json.loads(given.read_text()) == PROMPTS
    assert workers.settings["t2i"].provider.prompts is None


def test_a_cell_depends_on_what_the_file_says_and_not_on_where_it_lies(tmp_path: Path):
    first = with_prompts(table("table1"), written(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    assert with_prompts(table("table1"), written(tmp_path / "elsewhere")) == first
    other = {label: each[:1] for label, each in PROMPTS.items()}
    assert with_prompts(table("table1"), written(tmp_path, other)) != first


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
        made(wanted(tmp_path, **changes), lambda done, total: None, print)


def test_prompts_of_other_classes_are_refused_by_the_option_that_was_typed(tmp_path: Path):
    path = written(tmp_path, {"cut": ["A cut"]})
    asked = wanted(tmp_path, le_prompts=path)
    path.write_text(json.dumps({"cut": ["A cut"]}))
    with pytest.raises(UsageError, match=f"--le-prompts {path}: no prompt for 'good'"):
        made(asked, lambda done, total: None, print)
    assert not (tmp_path / "out").exists()
