"""Pairs of words: all different, all alike, and none."""

from __future__ import annotations

import pytest

from pcevolve.evaluation.texts import distinct_pairs


@pytest.mark.parametrize(
    ("texts", "share"),
    [
        (["a b c", "d e"], 1.0),
        (["a b", "A B", "a b", "a b"], 0.25),
        (["a a a a"], 1 / 3),
        (["one", "", None], 0.0),
        ([], 0.0),
    ],
)
def test_pairs_that_come_again_are_counted_once(texts, share):
    assert distinct_pairs(texts) == pytest.approx(share)
