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


def test_a_keeper_has_loaded_nothing_that_speaks_to_an_api_or_draws_a_page(loaded):
    elsewhere = (
        "pcevolve.egress",
        "pcevolve.providers",
        "pcevolve.pages",
        "pcevolve.auditing",
        "pcevolve.cli",
    )
    assert [name for name in loaded["keeper"].lines if name.startswith(elsewhere)] == []
    assert {"httpx", "httpcore", "Jinja2", "click"} & {*loaded["keeper"].packages} == set()
    assert "httpx" in loaded["runner"].packages
    assert "pcevolve.egress.gate" in loaded["runner"].lines
