"""What judges say of one cell, where no run is needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pcevolve_benchmarks.tables.cells import Cell, places
from pcevolve_benchmarks.tables.data import digits
from pcevolve_benchmarks.tables.sizes import SMOKE
from pcevolve_benchmarks.tables.table import SHOTS, Table, Variant
from pcevolve_benchmarks.tables.trial import Job, carried_out
from pcevolve_benchmarks.tables.work import Asked, filled


class Here:
    """Workers that are this process."""

    def each_done(self, work, jobs, begun):
        for job in jobs:
            begun(job)
            yield job, work(job)


def test_untrained_heads_are_others_for_each_seed(tmp_path: Path):
    """A seed is a draw: three that were one would have an interval of nothing."""
    data = digits(tmp_path / "data")
    cells = [
        Cell(data.name, '{"domain": "x", "method": "t2i"}', seed, "untrained", 20, 3) for seed in (0, 1, 2)
    ]
    found = [
        carried_out(Job((cell,), data, tmp_path / "run", {}, ("bundled", "cnn"), frozenset({"accuracy"})))
        for cell in cells
    ]
    figures = [{each.judge: each.value for each in rows} for ((_, rows),) in found]
    assert all(0 <= value <= 1 for row in figures for value in row.values())
    assert len({tuple(row.values()) for row in figures}) == 3


@pytest.mark.models
def test_of_a_handful_of_shots_there_is_an_accuracy_and_no_distance_and_nothing_is_missing(tmp_path: Path):
    data = digits(tmp_path / "data")
    table = Table("t", "", "", rows=(), columns=(), controls=(SHOTS,), measures=("fid",))
    judges = ("bundled",)

    def measured(shots: int, out: Path) -> tuple[set[str], list[str]]:
        scale = replace(SMOKE, shots=shots, tested=20)
        found = tuple(places(table, (data,), scale, (Variant(""),), {}))
        asked = Asked(table, scale, found, (data,), out, judges, {"api": "http://127.0.0.1:9"}, Here())
        faults = [*filled(asked, lambda *each: None, lambda said: None)]
        said: list[str] = []
        faults += filled(asked, lambda *each: None, said.append)
        assert said == []  # what is done is not done again
        return {each.name for each in asked.store.figures(found[0].cell.key)}, faults

    assert measured(1, tmp_path / "one") == ({"accuracy"}, [])
    assert measured(2, tmp_path / "two") == ({"accuracy", "fid", "kid"}, [])
