"""The owner's page about a dataset's use: each image stands beside the private one that is nearest to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pcevolve.keeper.evaluation.judge import Evaluator, Features
from pcevolve.keeper.finished.use_page import Confusion, pair_images, write_use_page
from pcevolve.public.media import Item


def lengths(texts: Sequence[Item | None]) -> Features:
    """A judge's view of a text: its length, and nothing of what is none."""
    return np.array([[len(each) if isinstance(each, str) else np.nan] for each in texts])


def never(*_: object) -> None:
    raise AssertionError("nothing is trained for a page")


def test_each_shown_text_of_a_class_stands_beside_the_nearest_private_one_that_can_be_used():
    made = ["x" * 9, "x" * 2, *["x" * 4] * 10], [1, 0, *[1] * 10]
    private = ["a" * 8, None, "b" * 3, "c" * 5]
    pairs = pair_images("text", ("cut", "good"), Evaluator("long", False, lengths, never), made, private)
    shown = {label: [(each.made.text, each.private.text) for each in of] for label, of in pairs.items()}
    assert shown["cut"] == [("xx", "bbb")]
    assert shown["good"] == [("x" * 9, "a" * 8), *[("xxxx", "bbb")] * 7], "eight of each class at most"


MEASURED = {
    "word": "not useful",
    "sentence": "it goes 12 % (3 to 20) of the way",
    "advice": "another provider may draw it",
    "judges": ["cnn", "clip"],
    "accuracies": {
        "words alone": (0.4, 0.35, 0.45),
        "dataset": (0.3, 0.25, 0.36),
        "private images": (0.9, 0.85, 0.95),
    },
}


def write(tmp_path: Path, **more: object) -> str:
    page = write_use_page(tmp_path / "useful.html", "a<b", "image", MEASURED, 0.25, **more)
    assert page.stat().st_mode & 0o777 == 0o600
    return page.read_text("utf-8")


def test_it_answers_at_once_with_every_yardstick_and_its_interval(tmp_path: Path):
    text = write(tmp_path)
    assert text.index("Is the dataset useful? Not useful.") < text.index(
        "12 % (3 to 20) of the way. Another provider"
    )
    order = ["chance", "words alone", "dataset", "private images"]
    places = [text.index(f">{name}</text>") for name in order]
    assert places == sorted(places)
    assert "30 % (25 to 36)" in text
    assert "25 %</text>" in text, "chance has no interval"
    assert "mean over the classifiers cnn and clip" in text
    assert "Do not share this page" in text


def test_a_lone_judge_is_named_as_one(tmp_path: Path):
    page = write_use_page(tmp_path / "useful.html", "run", "image", {**MEASURED, "judges": ["cnn"]}, 0.25)
    text = page.read_text("utf-8")
    assert "measured by the classifier cnn. This classifier (the judge) took no part in the selection" in text
    assert "mean over" not in text


def test_names_of_a_run_are_shown_as_they_are_and_do_nothing(tmp_path: Path):
    text = write(tmp_path, confusion=Confusion("cnn", ("<i>", "good"), ((5, 1), (2, 4))))
    assert "a&lt;b" in text
    assert "&lt;i&gt;" in text
    assert "<i>" not in text
    assert '<td data-label="predicted &lt;i&gt;" class="share-8">5</td>' in text
    assert '<td data-label="predicted good" class="share-2">1</td>' in text
    assert (
        "classifier cnn after training on the dataset. Rows are the true classes of held-out images" in text
    )


def test_only_classes_that_none_was_taken_for_are_left_out_of_a_narrow_page(tmp_path: Path):
    text = write(tmp_path, confusion=Confusion("cnn", ("cut", "good"), ((99, 1), (0, 100))))
    assert '<td data-label="predicted good">1</td>' in text
    assert '<td data-label="predicted cut" class="none">0</td>' in text


def test_of_texts_it_says_so(tmp_path: Path):
    text = write_use_page(tmp_path / "useful.html", "r", "text", MEASURED, 0.25).read_text("utf-8")
    assert "accuracy on held-out texts" in text


def test_a_count_is_marked_with_the_tenths_of_its_class_that_it_is():
    counts = ((1, 0), (0, 0), (3, 7))
    assert Confusion("cnn", ("cut", "none", "good"), counts).rows == [
        ("cut", [(1, 10), (0, 0)]),
        ("none", [(0, 0), (0, 0)]),
        ("good", [(3, 3), (7, 7)]),
    ]
