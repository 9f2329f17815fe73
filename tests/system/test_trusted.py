"""How much code has private data in its hands; ``make trusted`` lists it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.trusted import Loaded, measure

THREATS = Path(__file__).parents[2] / "docs" / "threat-model.md"


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Loaded]:
    return measure(tmp_path_factory.mktemp("trusted"))


def test_a_keeper_has_loaded_no_more_than_the_threat_model_says(loaded):
    (said,) = re.findall(r"(\d\d,\d{3}) lines of ours and (\d\d) packages", THREATS.read_text())
    lines, packages = int(said[0].replace(",", "")), int(said[1])
    keeper = loaded["keeper"]
    assert 0.95 * lines < keeper.total <= lines
    assert len(keeper.packages) == packages, keeper.packages


def find_zones(loaded: Loaded) -> set[str]:
    return {name.split(".")[1] for name in loaded.lines if name.startswith("pcevolve.")} - {"errors"}


def test_who_has_private_data_has_loaded_no_code_of_the_wire_and_the_other_way_round(loaded):
    assert find_zones(loaded["keeper"]) == {"public", "keeper"}
    assert find_zones(loaded["runner"]) == {"public", "wire"}
    assert {"httpx", "httpcore", "Jinja2", "click"} & {*loaded["keeper"].packages} == set()
    assert "httpx" in loaded["runner"].packages
