"""Whether a dataset is useful: on the card, in the summary, on the report and on the screen, in the same words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from pcevolve.auditing import audit
from pcevolve.session.progress import summary_table
from pcevolve.transcript import RunReader
from support.paid import encoder, paid_run
from support.provider import FakeProvider
from support.runs import small_plan

SELECTED = {
    "method": "dp-means", "delta": 1e-5, "pool": "all", "keep": "selected", "candidates": 2, "initial": 4,
    "prototypes": 2, "iterations": 1, "strengths": (0.8,), "centre_first": True,
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> RunReader:
    paid_run(tmp_path, small_plan(**SELECTED), FakeProvider())
    return RunReader.strict(tmp_path)


def test_everybody_is_told_the_same_word_and_the_numbers(run: RunReader):
    found = run.assessment
    assert found is not None
    summary = json.loads(run.layout.summary.read_text())
    assert summary["usefulness"] == {"word": found.word, **found.model_dump()}
    card, report = run.layout.card.read_text(), run.layout.report.read_text()
    assert (
        f"**{found.word.capitalize()}**, as far as what was released can tell: {found.reason('image')}."
        in card
    )
    assert f"<strong>{found.word.capitalize()}</strong>, as far as what was released can tell" in report
    console = Console(width=200, record=True)
    console.print(summary_table({**summary, "wall_seconds": 1}))
    assert f"{found.word.upper()}: {found.reason('image')}" in " ".join(console.export_text().split())


def test_a_run_that_released_no_means_is_not_called_anything(tmp_path: Path):
    paid_run(tmp_path, small_plan(**{**SELECTED, "centre_first": False}), FakeProvider())
    run = RunReader.strict(tmp_path)
    assert run.assessment is None
    assert "usefulness" not in json.loads(run.layout.summary.read_text())
    assert "Is it useful?" not in run.layout.card.read_text() + run.layout.report.read_text()
    assert not [each for each in audit(tmp_path, lambda plan: encoder()) if each.faults]
