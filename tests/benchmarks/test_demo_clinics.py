"""The demonstration of three owners: whose images are whose, and what its figures may be said to show."""

from __future__ import annotations

import hashlib
import runpy
from pathlib import Path

import pytest

from benchmarks.demo_clinics import OWNERS, PREPARE, judge_figures, write_page
from pcevolve.keeper.clinics.keys import OwnerKey
from pcevolve.public.clinics.roster import Roster

KINDS = ("1", "2", "3", "words", "random", "pooled")


def make_rows(one: list[float], three: list[float]) -> list[dict[str, object]]:
    figures = {"1": one, "3": three}
    return [
        {"kind": kind, "round": turn, "accuracy": figures.get(kind, one)[turn]}
        for turn in range(len(one))
        for kind in KINDS
    ]


def test_each_owner_has_ten_cells_of_a_class_that_nobody_else_has_and_its_key_in_the_roster(tmp_path: Path):
    runpy.run_path(str(PREPARE))["prepare"](tmp_path / "roster.toml", tmp_path, [*OWNERS])
    roster = Roster.read(tmp_path / "roster.toml")
    assert [(each.name, each.shots) for each in roster.owner] == [("north", 10), ("east", 10), ("south", 10)]
    digests: set[str] = set()
    for each in roster.owner:
        assert OwnerKey.load(tmp_path / each.name / "own.key").public == each.key
        images = [*(tmp_path / each.name / "images").rglob("*.png")]
        assert {path.parent.name for path in images} == {*roster.classes}
        digests |= {hashlib.sha256(path.read_bytes()).hexdigest() for path in images}
    assert len(digests) == 3 * 4 * 10


@pytest.mark.parametrize(
    ("one", "three", "said"),
    [
        ([40.0], [80.0], "these show no difference"),
        ([40.0, 42.0, 41.0], [80.0, 82.0, 81.0], "three owners together have more than one alone"),
        ([40.0, 70.0, 50.0], [60.0, 80.0, 75.0], "too noisy to tell"),
        ([80.0, 82.0, 81.0], [40.0, 42.0, 41.0], "too noisy to tell"),
    ],
)
def test_no_difference_is_claimed_that_the_draws_do_not_show(tmp_path: Path, one, three, said):
    rows = make_rows(one, three)
    assert said in judge_figures(rows)
    page = write_page(rows, tmp_path).read_text()
    assert said[1:] in page
    assert "<svg" in page
    assert "three owners, summed" in page
