"""The owner's page about a dataset's use: each image stands beside the private one that is nearest to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcevolve.keeper.evaluation.judge import Evaluator, Features
from pcevolve.keeper.finished.use_page import pair_images
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
