"""The page: one file, honest, and safe to open whatever the provider and the labels say."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from pcevolve.public.dp.attacks import most_true_positives
from pcevolve.public.pages.report.charts import AccuracyPoint
from pcevolve.public.privacy import Event
from pcevolve_shared import images
from support.provider import png
from support.viewer import HOSTILE, POINTS, page

Make = Callable[..., Path]


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
    odds = f"detects at most {share} % of those used; guessing would detect 5 %."
    assert f"An attacker who wrongly accuses 5 % of those not used {odds}" in text
    assert "the probability that a selected image is" in text
    assert (
        text.index("What was sent")
        < text.index("What an attacker can find out")
        < text.index("Privacy loss ε")
    )


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
    assert "1 image was sent that neither a receipt nor the plan names" in shown.text
    assert "Every image that was sent" not in shown.text
    assert "No private image was sent" not in shown.text


def test_nothing_but_the_public_records_is_read(finished: Make):
    root = finished()
    (root / "private").write_text("a file where the folder was: reading it would fail")
    assert "10 of 10 spent" in page(root).text
