"""The page about what PCEvolve can do is a view of its JSON, which the command makes again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pcevolve.errors import DataError
from pcevolve_benchmarks.limits.measured import first_choice, gain, read_measured
from pcevolve_benchmarks.limits.page import figures, page, picture

RESULTS = Path(__file__).parents[3] / "docs" / "results"


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return json.loads((RESULTS / "pcevolve.json").read_text())


def test_every_figure_of_the_page_is_of_its_json(kept: dict[str, Any]):
    assert page(kept) == (RESULTS / "pcevolve.md").read_text()
    assert picture(kept) == (RESULTS / "pcevolve.svg").read_bytes()


@pytest.mark.statistical
def test_the_json_is_what_the_command_finds(kept: dict[str, Any]):
    found = json.loads(json.dumps(figures(*read_measured(RESULTS))))
    assert flat(found) == pytest.approx(flat(kept), rel=1e-6)


def flat(found: Any, name: str = "") -> dict[str, float]:
    """Every number, by its path."""
    if isinstance(found, dict | list):
        items = found.items() if isinstance(found, dict) else enumerate(found)
        return {path: value for key, each in items for path, value in flat(each, f"{name}/{key}").items()}
    return {name: found} if isinstance(found, int | float) else {}


def test_a_reader_gets_through_it():
    text = re.sub(r"[|·]", " ", (RESULTS / "pcevolve.md").read_text())
    assert len(text.split()) <= 1200


def row(method: str, world: str, seed: int, cnn: float, best: float = 0.0) -> dict[str, Any]:
    verdicts = [
        {"judge": "cnn", "voted": False, "accuracy": cnn},
        {"judge": "bundled", "voted": True, "accuracy": 1.0},
    ]
    usual = {"epsilon": "10", "shots": 10, "noise": True, "appearance": None, "initial": None}
    return {"method": method, "world": world, "seed": seed, "verdicts": verdicts, "best_tenth": best, **usual}


def test_a_gain_is_paired_by_set_and_seed_and_leaves_the_voter_out():
    rows = [
        row(method, world, seed, accuracy + 0.1 * (world == "b:1,2"))
        for method, accuracy in (("pe", 0.6), ("random", 0.5))
        for world in ("a:1,2", "b:1,2", "c:1,2")
        for seed in (0, 1)
    ]
    rows.append(row("pe", "a:1,2", 7, 0.0))  # no control with that seed
    found = gain(rows, "pe")
    assert (found.mean, found.half, found.seeds) == (pytest.approx(10), pytest.approx(0, abs=1e-9), 3)


def test_runs_of_other_sizes_are_not_counted():
    rows = [row("pe", "a:1,2", 0, 0.5, 0.2), {**row("pe", "a:1,2", 1, 0.5, 0.9), "epsilon": "20"}]
    assert first_choice(rows, "pe").mean == pytest.approx(20)
    with pytest.raises(DataError, match="none of 'jvem'"):
        first_choice(rows, "jvem")


def test_a_folder_without_results_is_refused(tmp_path: Path):
    with pytest.raises(DataError, match="has no selectors"):
        read_measured(tmp_path)
