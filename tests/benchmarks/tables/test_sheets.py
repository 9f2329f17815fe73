"""The picture of datasets side by side."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from PIL import Image

from pcevolve.evaluation.labelled import Labelled
from pcevolve_benchmarks.tables.catalogue import table
from pcevolve_benchmarks.tables.cells import columns_of, places
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.sheets import beside_nearest, by_votes, rows_of, sheets
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


def greys(*levels: int) -> list[Image.Image]:
    return [Image.new("RGB", (8, 8), (level,) * 3) for level in levels]


def levels_of(images) -> list[int | None]:
    return [None if each is None else each.getpixel((0, 0))[0] for each in images]


def look(images) -> np.ndarray:
    return np.array([[each.getpixel((0, 0))[0]] for each in images], dtype=float)


def test_each_synthetic_image_has_the_nearest_private_ones_of_its_class_beside_it():
    synthetic = Labelled(greys(100, 10, 20, 101), np.array([0, 0, 0, 1]))
    private = Labelled(greys(90, 60, 99, 95, 12, 100), np.array([0, 0, 0, 0, 0, 1]))
    rows = list(beside_nearest(synthetic, private, ["a", "b"], (look, lambda images: -(look(images) ** 2))))
    assert [label for label, _ in rows] == ["a", "a", "b"]
    assert levels_of(rows[0][1]) == [100, None, 99, 95, 90, 60, None, 99, 95, 90, 60]
    assert levels_of(rows[1][1])[:4] == [10, None, 12, 60]
    assert levels_of(rows[2][1])[:6] == [101, None, 100, None, None, None]


def test_candidates_stand_by_their_votes_from_most_to_fewest():
    pool = Labelled(greys(*range(0, 100, 10), 200), np.array([0] * 10 + [1]))
    votes = np.array([0.1, 3.0, -1.0, 2.0, 0.2, 0.3, 0.4, 0.5, 1.0, -2.0, 9.0])
    rows = dict(by_votes(pool, votes, ["a", "b"]))
    assert levels_of(rows["a"]) == [10, 30, 80, 70, None, 40, 0, 20, 90]
    assert levels_of(rows["b"]) == [200, None, 200]
