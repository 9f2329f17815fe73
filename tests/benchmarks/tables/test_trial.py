"""What judges say of one cell, where no run is needed."""

from __future__ import annotations

from pathlib import Path

from pcevolve_benchmarks.tables.cells import Cell
from pcevolve_benchmarks.tables.data import digits
from pcevolve_benchmarks.tables.trial import Job, carried_out


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
