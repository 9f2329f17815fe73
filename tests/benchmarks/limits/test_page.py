"""The page about what PCEvolve can do is a view of its JSON, which the command makes again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pcevolve_benchmarks.limits.page import page, picture

RESULTS = Path(__file__).parents[3] / "docs" / "results"


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return json.loads((RESULTS / "pcevolve.json").read_text())


def test_every_figure_of_the_page_is_of_its_json(kept: dict[str, Any]):
    assert page(kept) == (RESULTS / "pcevolve.md").read_text()
    assert picture(kept) == (RESULTS / "pcevolve.svg").read_bytes()
