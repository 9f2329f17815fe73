"""The page: one file, honest, and safe to open whatever the provider and the labels say."""

from __future__ import annotations

import io
import json
import math
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.auditing import audit
from pcevolve.dp.tradeoff import most_true_positives
from pcevolve.egress.transport import Incoming, Outgoing
from pcevolve.errors import UsageError
from pcevolve.pages.report import AccuracyPoint, write_report
from pcevolve.privacy import Event
from pcevolve.transcript import RunReader
from pcevolve_shared import images
from support.forge import Event as RecordedEvent
from support.forge import forge, rewritten_body
from support.provider import FakeProvider, ok, png
from support.runs import SmallRun

Make = Callable[..., Path]
POINTS = [
    AccuracyPoint("pcevolve", "bundled", True, 2, 0.88, 0.02),
    AccuracyPoint("pcevolve", "cnn", False, 0, 0.4, 0.01),
    AccuracyPoint("pcevolve", "cnn", False, 2, 0.61, 0.02),
    AccuracyPoint("random control", "cnn", False, 2, 0.43, 0.03),
]


class Page(HTMLParser):
    """What is on a page: text without markup, and every element with its attributes."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text = ""
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.text += " "

    def handle_data(self, data):
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def of_class(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for _, attributes in self.elements if attributes.get("class") == name]


def page(root: Path, accuracy: Sequence[AccuracyPoint] = ()) -> Page:
    return Page(write_report(RunReader.strict(root), accuracy))


def test_the_page_fetches_and_runs_nothing(finished: Make):
    shown = page(finished(), POINTS)
    for tag, attributes in shown.elements:
        assert tag not in {"script", "iframe", "object", "embed", "link", "base", "form"}
        assert not [name for name in attributes if name.startswith("on") or name in {"style", "srcset"}]
        assert attributes.get("href") in (None, "#assumed", "audit/wire.html")
        assert attributes.get("src") is None or attributes["src"].startswith("data:image/jpeg;base64,")
    policy = next(each["content"] for each in shown.all("meta") if "http-equiv" in each)
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "url(" not in shown.text
    assert "@import" not in shown.text


def test_it_says_what_was_promised_and_spent(finished: Make):
    text = page(finished()).text
    assert "10 spent of 10" in text
    assert "replace-one" in text
    assert "one image" in text
    assert "a factor of e ε = 22,027" in text
    assert "accessed 4 times (exponential mechanism)" in text
    assert "nominal shots per class: 10" in text
    assert "pure epsilon-DP, delta = 0" in text
    assert "besides" not in text


def test_a_promise_with_a_delta_does_not_leave_it_out(finished: Make):
    text = page(finished(method="dp-means", delta=1e-5)).text
    assert "a factor of e ε = 22,027 and, besides, by δ = 1e-05." in text


def test_the_first_screen_comes_before_any_figure_and_has_the_odds_of_the_whole_record(finished: Make):
    events = [Event("exponential", "5/2", 4)]
    share = math.ceil(100 * most_true_positives(events, 0.05))
    text = page(finished()).text
    assert f"Right in at most {share} of 100; guessing is right in 5." in text
    assert text.index("What left") < text.index("What an attacker can tell") < text.index("Privacy loss ε")


def test_the_odds_of_a_run_that_drew_its_data_are_those_of_the_folder(finished: Make):
    """Who knows all else of the folder compares draws that differ in two units."""
    text = page(finished(subsample=3, shots=3)).text
    share = math.ceil(100 * most_true_positives([Event("exponential", "5", 4)], 0.05))
    assert f"Right in at most {share} of 100; guessing is right in 5." in text
    assert "whether one given image was in the folder that was drawn from, or another in its place" in text
    assert "one image bears epsilon <= 20 at delta 0: it changes up to 2 units of the draw." in text


def test_the_owners_own_page_leads_to_the_wire_page_of_its_run(finished: Make):
    root = finished()
    own = write_report(RunReader.strict(root), POINTS, root / "private" / "report.html")
    (link,) = [each["href"] for each in Page(own).all("a") if each["href"] != "#assumed"]
    assert (own.parent / link).resolve() == (root / "audit" / "wire.html").resolve()


def test_a_control_promises_that_nothing_depends_on_the_private_data(finished: Make):
    text = page(finished(method="random")).text
    assert "0 spent of 10" in text
    assert "Nothing in this dataset depends on the private data" in text
    assert "chosen by a uniform draw" in text


def test_a_run_without_evolution_has_a_page_too(finished: Make):
    shown = page(finished(method="t2i", iterations=0, strengths=()))
    assert "No image was sent." in shown.text
    assert shown.of_class("chosen") == []
    assert shown.of_class("chart") == []


SELECTED = {
    "method": "dp-means",
    "delta": 1e-5,
    "pool": "all",
    "keep": "selected",
    "appearance": "matched",
    "initial": 5,
}


def test_a_dataset_that_was_selected_is_shown_apart_and_in_its_appearance(finished: Make):
    root = finished(**SELECTED)
    shown = page(root)
    assert "The dataset selected from all rounds, appearance matched" in shown.text
    assert "accessed 2 times (gaussian mechanism)" in shown.text
    released = sorted((root / "release" / "cut").iterdir())
    assert len(released) == 3
    assert np.asarray(Image.open(released[0])).std(axis=2).max() == 0  # its colour is gone, as was asked
    assert shown.of_class("chart")
    assert [fault for finding in audit(root) for fault in finding.faults] == []


def test_chosen_prototypes_are_marked_with_their_receipts(finished: Make):
    chosen = page(finished()).of_class("chosen")
    assert len(chosen) == 4  # two classes, two iterations
    assert chosen[0]["title"].startswith("i000-c000-000002; chosen for iteration 1 by receipt ")


@pytest.mark.parametrize(
    "junk", [b"not an image at all, but long enough to be stored" * 3, b"\x89PNG\r\n\x1a\n" * 9]
)
def test_what_is_not_an_image_becomes_a_placeholder(finished: Make, junk: bytes):
    honest = FakeProvider()

    def spoil(request: Outgoing) -> Incoming | None:
        answer = json.loads(honest.answer(request).body)
        if "images" not in answer:
            return None
        answer["images"][1]["image"] = images.to_base64(junk)
        return ok(answer)

    shown = page(finished(FakeProvider(spoil)))
    assert len(shown.of_class("broken")) == 6  # one in each first batch
    assert "2 of the provider's last answers could not be used" in shown.text


def test_an_answer_that_was_unusable_and_asked_for_again_is_shown_once(finished: Make):
    refused: list[bytes] = []

    def meddle(request: Outgoing) -> Incoming | None:
        if request.body and not refused:
            refused.append(request.body)
            return Incoming(503, (), b'{"images": [{"image": "AAAA"}, {"image": "AAAA"}]}')
        return None

    shown = page(finished(FakeProvider(meddle)))
    assert shown.of_class("broken") == []
    assert "text-to-image 4 5 1 1" in shown.text  # planned, sent, retries, failed


HOSTILE = '<script>alert("1")</script>'


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
    assert shown.all("script") == []
    assert {each["src"][:5] for each in shown.all("img")} == {"data:"}
    assert label in shown.text
    assert "{{ 7*7 }}" in shown.text


def test_a_marked_run_is_marked_at_the_top(finished: Make):
    shown = page(finished(noise="INSECURE-seeded"))
    first = next(index for index, (tag, _) in enumerate(shown.elements) if tag == "main")
    assert shown.elements[first + 1][1] == {"class": "banner", "role": "alert"}
    assert "INSECURE: noise came from a seed; this run has no privacy" in shown.text
    assert "Nothing was promised." in shown.text


def test_an_honest_run_has_no_banner(finished: Make):
    shown = page(finished())
    assert shown.of_class("banner") == []
    assert "Every image that was sent is one that the provider had made, byte for byte" in shown.text


def test_an_image_that_no_receipt_names_is_told_instead_of_a_reassurance(finished: Make):
    root = finished()

    def change(events: list[RecordedEvent]) -> list[RecordedEvent]:
        place = max(index for index, event in enumerate(events) if event["kind"] == "sent")
        events[place] = rewritten_body(root, events[place], smuggle)
        return events

    def smuggle(body: bytes) -> bytes:
        return json.dumps(json.loads(body) | {"image": images.to_base64(png(12345))}).encode()

    forge(root, change)
    shown = page(root)
    assert "1 image left without being named by a receipt" in shown.text
    assert "Every image that was sent" not in shown.text
    assert "They were not sent" not in shown.text


def test_a_request_outside_the_plan_is_listed_as_such(finished: Make):
    root = finished()

    def change(events: list[RecordedEvent]) -> list[RecordedEvent]:
        return [{**event, "slot": "more"} if event.get("slot") == "hello" else event for event in events]

    forge(root, change)
    assert "NOT IN THE PLAN 1 1 0 0" in page(root).text


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


def test_counts_agree_with_the_transcript(finished: Make):
    root = finished()
    log = (root / "transcript" / "log.jsonl").read_text().splitlines()
    events = [json.loads(line)["event"] for line in log]
    sent = sum(event["wire_bytes"] for event in events if event["kind"] == "sent")
    received = sum(event["wire_bytes"] for event in events if event["kind"] == "answered")
    shown = page(root)
    assert f"total 13 13 0 0 {sent:,} {received:,} 4" in shown.text
    assert json.loads((root / "release" / "manifest.json").read_text())["transcript"]["head"] in shown.text


def test_nothing_but_the_public_records_is_read(finished: Make):
    root = finished()
    shutil.rmtree(root / "private")
    (root / "private").write_text("a file where the folder was: reading it would fail")
    assert "10 spent of 10" in page(root).text


def test_an_unfinished_run_is_refused_with_the_next_step(tmp_path: Path):
    SmallRun.open(tmp_path).close()
    with pytest.raises(UsageError, match="unfinished run: continue it with pcevolve run --resume"):
        write_report(RunReader.strict(tmp_path))
    assert not (tmp_path / "report.html").exists()


@cache
def big(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def noisy(request: Outgoing) -> Incoming | None:
    """The same large pictures every time."""
    fields = json.loads(request.body or b"{}")
    made = [{"image": images.to_base64(big(seed)), "seed": seed} for seed in range(fields.get("n", 0))]
    return ok({"images": made, "cost": 0.0}) if made else None


def test_the_page_of_a_full_run_stays_under_four_megabytes(finished: Make):
    """Pure noise is the worst case for thumbnails; 20 candidates per class show as many of them as 100 do."""

    plan = {"candidates": 20, "batch": 20, "iterations": 8, "strengths": (0.7,) * 8}
    root = finished(FakeProvider(noisy), labels=("a", "b", "c"), **plan)
    assert len(page(root).all("img")) == 3 * 6 * 12
    assert write_report(RunReader.strict(root), POINTS).stat().st_size < 4_000_000


def test_many_classes_do_not_make_a_huge_page(finished: Make):
    labels = tuple(f"class {each}" for each in range(130))
    shown = page(
        finished(
            FakeProvider(noisy),
            method="t2i",
            labels=labels,
            candidates=5,
            batch=5,
            iterations=0,
            strengths=(),
        )
    )
    assert len(shown.all("img")) == 500
    assert "5 more classes are in release/" in shown.text
