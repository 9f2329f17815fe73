"""The library's benchmark: what it serves, what it judges by, and the page it writes; no published weights needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.library import judges
from benchmarks.library.cases import BY_NAME, CASES, THREE_ROUNDS, Case, wanted
from benchmarks.library.folder import served
from benchmarks.library.page import page
from benchmarks.library.trial import library, made, measured
from benchmarks.split import LOOKED_AT_ONCE, TUNED_ON
from support.collections import library as painted

CASE = Case("digits:3,5,8", "painted tiles", "painted tile")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("library")
    return library(painted(root / "tiles", images=20), root / "cache")


@pytest.mark.models
@pytest.mark.parametrize("name", ["dp-means", THREE_ROUNDS, "random-phase", "ten shots (not private)"])
def test_a_contender_makes_a_training_set_of_every_class(model, name):
    pictures, targets, told = made(CASE, BY_NAME[name], 0, model)
    assert len(pictures) == len(targets)
    assert set(np.bincount(targets)) == {10 if "shots" in name else 20}
    assert told.get("bought", 0) == {"dp-means": 80, THREE_ROUNDS: 140}.get(name, 0)


@pytest.mark.models
def test_figures_say_whether_the_judge_voted(model, tmp_path: Path, monkeypatch):
    bundled = judges.voter("bundled").rows
    monkeypatch.setattr("benchmarks.library.trial.heads", lambda work: {"mobilenet": bundled})
    rows = [
        measured(CASE, BY_NAME[name], 0, model, tmp_path)
        for name in ("nearest released mean, no images", "t2i")
    ]
    assert [row["verdicts"][0]["voted"] for row in rows] == [True, False]
    assert all(0 <= row["verdicts"][0]["accuracy"] <= 1 for row in rows)


def test_private_images_and_those_of_domains_that_are_looked_at_once_are_not_in_the_library():
    paths = [
        "blood smear/platelet/0003.jpg",
        "household waste/paper/0001.jpg",
        "sa/apple leaf/healthy/0001.jpg",
    ]
    assert not any(map(served, paths))
    assert served("blood smear/platelet/0004.jpg")
    assert served("bird/owl/0003.jpg")


def test_schedules_are_tuned_on_sets_alone_that_may_be_tuned_on():
    tuned = {case.about.role for _, case, contender in wanted(1) if contender.tuning}
    assert tuned == {TUNED_ON}
    assert LOOKED_AT_ONCE in {case.about.role for case in CASES}


def test_pairs_are_of_the_same_seed_and_leave_out_rows_of_another_draw():
    def row(name: str, seed: int, accuracy: float, **more: object) -> dict[str, object]:
        verdicts = [{"judge": judge, "voted": False, "accuracy": accuracy} for judge in judges.HEADS]
        return {"world": CASES[0].world, "seed": seed, "contender": name, "verdicts": verdicts, **more}

    rows = [
        *(row("as-is, 7 N", seed, 0.5) for seed in range(3)),
        *(row(THREE_ROUNDS, seed, 0.6) for seed in range(2)),
        row(THREE_ROUNDS, 2, 0.9, over_http=True),
    ]
    assert "| as-is, T = 3 − as-is, 7 N | 10.0 ± 0.0 (2) |" in page(rows)
