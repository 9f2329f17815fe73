"""Sheets of a report: what was shown, what was sent back, and what became the dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from pcevolve.app.interface.notebook import render_notebook
from pcevolve.auditing import audit
from pcevolve.public.pages.report.charts import AccuracyPoint
from pcevolve.public.pages.report.page import write_report
from pcevolve.public.pages.report.sheets import show_beside
from pcevolve.public.pages.wire.page import render_viewer
from pcevolve.public.transcript.reader import FinishedRun, RunReader
from support.viewer import Page

Make = Callable[..., Path]


def page(root: Path, accuracy: Sequence[AccuracyPoint] = ()) -> Page:
    return Page(write_report(RunReader.strict(root), accuracy).read_text())


def test_a_dataset_that_was_selected_is_shown_apart_and_in_its_appearance(finished: Make):
    selected = {"method": "dp-means", "delta": 1.2345678e-5, "pool": "all", "keep": "selected", "initial": 5}
    root = finished(**selected, appearance="matched")
    shown, record = page(root), RunReader.strict(root)
    for said in (shown.text, render_viewer(record, []).decode(), render_notebook(FinishedRun.of(record))):
        assert "1.2345678e-05" in said, "less would promise more"
    assert "selected from all rounds, appearance matched" in shown.text
    assert "used in 2 releases, with the gaussian mechanism" in shown.text
    assert "the probability that a selected image is" not in shown.text, "a bound of 100 % is none"
    released = sorted((root / "release" / "cut").iterdir())
    assert len(released) == 3
    assert np.asarray(Image.open(released[0])).std(axis=2).max() == 0  # its colour is gone, as was asked
    assert shown.of_class("chart")
    assert [fault for finding in audit(root) for fault in finding.faults] == []


def test_datasets_are_shown_class_by_class_where_there_are_two_to_compare(finished: Make):
    run = FinishedRun.of(RunReader.strict(finished()))
    assert show_beside({"this run": run}) == []
    beside = show_beside({"this run": run, "before": run})
    assert [sheet.label for sheet in beside] == ["cut", "good"]
    assert [[row.title for row in sheet.rows] for sheet in beside] == [["this run", "before"]] * 2
