"""The finding of an audit in a word."""

from __future__ import annotations

import pytest

from pcevolve.public.finding import Finding


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ({}, "holds"),
        ({"unchecked": "no weights"}, "NOT CHECKED"),
        ({"unchecked": "no weights", "pending": "a round"}, "UNFINISHED"),
        ({"unchecked": "no weights", "pending": "a round", "faults": ("f",)}, "BROKEN"),
    ],
)
def test_what_is_wrong_comes_before_what_is_to_come_and_that_before_what_nobody_looked_at(found, verdict):
    finding = Finding("a claim", **({"faults": (), "checked": 3} | found))
    assert (finding.verdict, finding.holds) == (verdict, not found)
