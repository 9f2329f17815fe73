"""The picture of datasets side by side."""

from __future__ import annotations

import shutil
from pathlib import Path

from PIL import Image

from pcevolve_benchmarks.tables.catalogue import table
from pcevolve_benchmarks.tables.cells import columns_of, places
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.sheets import rows_of, sheets
from pcevolve_benchmarks.tables.sizes import SMOKE
from pcevolve_benchmarks.tables.work import Asked
from pcevolve_benchmarks.tables.workers import Processes
from support.runs import SmallRun
from support.shots import shots


def test_what_the_prompt_alone_gave_comes_first_and_what_was_not_made_has_no_row(tmp_path: Path):
    data = BenchData("leather", "leather texture", shots(tmp_path / "train"), tmp_path / "train")
    of = table("figure6")
    found = tuple(places(of, (data,), SMOKE, columns_of(of, SMOKE, (), ()), {"encoder": "bundled"}))
    asked = Asked(of, SMOKE, found, (data,), tmp_path / "out", (), None, Processes(1))
    run = SmallRun.open(tmp_path / "run")
    run.finish()
    run.close()
    for place in found:
        if place.row != "PE" and not place.cell.yardstick:
            shutil.copytree(tmp_path / "run", asked.root(place.cell))
    rows = dict(rows_of(asked, data))
    assert list(rows) == ["initial (t2i)", "PCEvolve", "dp-means (ours)", "random", "private"]
    assert [len(images) for images in rows.values()] == [6, 6, 6, 6, 4]
    (name,) = sheets(asked, tmp_path)
    assert Image.open(tmp_path / name).height == 5 * 66
