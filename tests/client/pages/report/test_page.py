"""The page: one file, honest, and safe to open whatever the provider and the labels say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from PIL import Image

from pcevolve.auditing import audit
from pcevolve.dp.attacks import most_true_positives
from pcevolve.pages.notebook import render_notebook
from pcevolve.pages.report.charts import AccuracyPoint, sum_spent
from pcevolve.pages.report.page import write_report
from pcevolve.pages.wire.page import render_viewer
from pcevolve.privacy import Event
from pcevolve.transcript import RunReader
from pcevolve.transcript.reader import FinishedRun
from pcevolve_shared import images
from support.provider import png
from support.viewer import HOSTILE, Page

Make = Callable[..., Path]
POINTS = [
    AccuracyPoint("pcevolve", "bundled", True, 2, 0.88, 0.02),
    AccuracyPoint("pcevolve", "cnn", False, 0, 0.4, 0.01),
    AccuracyPoint("pcevolve", "cnn", False, 2, 0.61, 0.02),
    AccuracyPoint("random control", "cnn", False, 2, 0.43, 0.03),
]


def page(root: Path, accuracy: Sequence[AccuracyPoint] = ()) -> Page:
    return Page(write_report(RunReader.strict(root), accuracy).read_text())


def test_the_page_fetches_and_runs_nothing(finished: Make, tmp_path: Path):
    shown = page(finished(), POINTS)
    for tag, attributes in shown.elements:
        assert tag not in {"script", "iframe", "object", "embed", "link", "base", "form"}
        assert not [name for name in attributes if name.startswith("on") or name in {"style", "srcset"}]
        assert attributes.get("href") in (None, "#assumed", "audit/wire.html")
        assert attributes.get("src") is None or attributes["src"].startswith("data:image/jpeg;base64,")
    policy = next(each["content"] for tag, each in shown.elements if "http-equiv" in each)
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    source = (tmp_path / "run" / "report.html").read_text()
    assert "url(" not in source
    assert "@import" not in source


def test_the_first_screen_comes_before_any_figure_and_has_the_odds_of_the_whole_record(finished: Make):
    events = [Event("exponential", "5/2", 4)]
    share = math.ceil(100 * most_true_positives(events, 0.05))
    text = page(finished()).text
    assert f"Right in at most {share} of 100; guessing is right in 5." in text
    assert "At that price" in text
    assert text.index("What left") < text.index("What an attacker can tell") < text.index("Privacy loss ε")


def test_what_a_dataset_cost_that_was_selected_is_part_of_what_was_spent_in_the_end():
    receipts = [SimpleNamespace(iteration=t, events=(Event("exponential", "1", 1),)) for t in (1, 2, 3)]
    plan = SimpleNamespace(iterations=2, delta=0.0, subsample=None, unit="image")
    run = SimpleNamespace(plan=plan, record=SimpleNamespace(receipts=receipts))
    assert sum_spent(run) == [0, 1, 3]


def test_a_dataset_that_was_selected_is_shown_apart_and_in_its_appearance(finished: Make):
    selected = {"method": "dp-means", "delta": 1.2345678e-5, "pool": "all", "keep": "selected", "initial": 5}
    root = finished(**selected, appearance="matched")
    shown, record = page(root), RunReader.strict(root)
    for said in (shown.text, render_viewer(record, []).decode(), render_notebook(FinishedRun.of(record))):
        assert "1.2345678e-05" in said, "less would promise more"
    assert "selected from all rounds, appearance matched" in shown.text
    assert "accessed 2 times (gaussian mechanism)" in shown.text
    assert "At that price" not in shown.text, "a bound of 100 % is none"
    released = sorted((root / "release" / "cut").iterdir())
    assert len(released) == 3
    assert np.asarray(Image.open(released[0])).std(axis=2).max() == 0  # its colour is gone, as was asked
    assert shown.of_class("chart")
    assert [fault for finding in audit(root) for fault in finding.faults] == []


def test_labels_prompts_and_provider_strings_are_text_not_markup(finished: Make):
    label = "&lt;img src=x onerror=alert(1)&gt;'"  # a label cannot have angle brackets
    root = finished(
        labels=(label, "&amp;good"),
        domain=HOSTILE,
        negative_prompt=HOSTILE,
        model=HOSTILE,
        unit="</style>" + HOSTILE,
        prompt_template="{{ 7*7 }}" + HOSTILE + "{domain}{label}",
    )
    shown = page(root, [AccuracyPoint(each, each, False, 0, 0.5, 0.1) for each in (HOSTILE, "b")])
    assert "script" not in [tag for tag, _ in shown.elements]
    assert {each["src"][:5] for tag, each in shown.elements if tag == "img"} == {"data:"}
    assert label in shown.text
    assert "{{ 7*7 }}" in shown.text


def test_a_marked_run_is_marked_at_the_top(finished: Make):
    shown = page(finished(noise="INSECURE-seeded"))
    first = next(index for index, (tag, _) in enumerate(shown.elements) if tag == "main")
    assert shown.elements[first + 1][1] == {"class": "banner", "role": "alert"}
    assert "INSECURE: noise came from a seed; this run has no privacy" in shown.text
    assert "Nothing was promised." in shown.text


def test_an_image_that_no_receipt_names_is_told_instead_of_a_reassurance(finished_otherwise: Make):
    root = finished_otherwise(image=images.to_base64(png(12345)))
    shown = page(root)
    assert "1 image left without being named by a receipt" in shown.text
    assert "Every image that was sent" not in shown.text
    assert "were not sent" not in shown.text


def test_accuracy_is_shown_only_when_it_is_given_and_then_said_to_be_public(finished: Make):
    root = finished()
    assert "Accuracy" not in page(root).text
    with_accuracy = page(root, POINTS).text
    assert "Accuracy was measured on public data" in with_accuracy
    assert "random control" in with_accuracy
    assert "61%" in with_accuracy


def test_a_judge_that_voted_comes_last_is_marked_and_is_in_no_chart(finished: Make):
    voter = [AccuracyPoint("pcevolve", "bundled", True, t, 0.86 + t / 100, 0.02) for t in range(3)]
    other = [AccuracyPoint("pcevolve", "cnn", False, t, 0.41 + t / 10, 0.03) for t in range(3)]
    shown = page(finished(), [*voter, *other]).text
    assert shown.index("pcevolve cnn 2 61% 3%") < shown.index("pcevolve bundled (voted) 0 86% 2%")
    assert [shown.count(figure) for figure in ("86%", "87%", "88%")] == [1, 1, 1]
    assert "by judges that did not vote" in shown
    assert "pcevolve, by cnn from 41% to 61%" in shown


def test_nothing_but_the_public_records_is_read(finished: Make):
    root = finished()
    (root / "private").write_text("a file where the folder was: reading it would fail")
    assert "10 of 10 spent" in page(root).text
