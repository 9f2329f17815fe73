"""How much code has private data in its hands; ``make trusted`` lists it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.trusted import Loaded, measure

THREATS = Path(__file__).parents[2] / "docs" / "threat-model.md"


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Loaded]:
    return measure(tmp_path_factory.mktemp("trusted"), judged=True)


def test_a_keeper_has_loaded_no_more_than_the_threat_model_says(loaded):
    lines, packages = find_said("lines of ours and")
    keeper = loaded["keeper"]
    assert 0.95 * lines < keeper.total <= lines
    assert len(keeper.packages) == packages, keeper.packages


def test_who_measures_test_data_has_loaded_no_more_than_the_threat_model_says(loaded):
    lines, packages = find_said("lines and")
    judge = loaded["judge"]
    assert 0.95 * lines < judge.total <= lines
    assert len(judge.packages) <= packages, judge.packages


def find_said(between: str) -> tuple[int, int]:
    """Lines of ours and packages of others."""
    (said,) = re.findall(rf"(\d\d,\d{{3}}) {between} (\d\d) packages", THREATS.read_text())
    return int(said[0].replace(",", "")), int(said[1])


def find_zones(loaded: Loaded) -> set[str]:
    return {name.split(".")[1] for name in loaded.lines if name.startswith("pcevolve.")} - {"errors"}


def test_who_has_private_data_has_loaded_no_code_of_the_wire_and_the_other_way_round(loaded):
    assert find_zones(loaded["keeper"]) == {"public", "keeper"}
    assert find_zones(loaded["runner"]) == {"public", "wire"}
    assert find_zones(loaded["judge"]) == {"public", "keeper", "app"}
    assert {"httpx", "httpcore", "Jinja2", "click", "rich"} & {*loaded["keeper"].packages} == set()
    assert "httpx" not in loaded["judge"].packages
    assert "httpx" in loaded["runner"].packages
