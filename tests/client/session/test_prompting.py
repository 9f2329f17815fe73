"""Where the prompts of each class come from, and what a file of them must look like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.errors import UsageError
from pcevolve.session.planning import prompts_for, written

LABELS = ("cut", "good")


def of(path: Path | None, count: int = 0) -> tuple[tuple[str, ...], ...]:
    return prompts_for(path, count, "leather texture", LABELS)


def test_nobody_who_wants_none_gets_any():
    assert of(None) == ()


def test_who_wants_some_gets_the_grammar_s():
    assert [len(own) for own in of(None, 100)] == [100, 100]
    assert all(len(set(own)) == 100 for own in of(None, 100))


def test_a_file_is_taken_in_the_order_of_the_classes(tmp_path: Path):
    path = tmp_path / "prompts.json"
    path.write_text(written({"good": ["g1", "g2"], "cut": ["c1", "c2"]}))
    assert of(path, 10) == (("c1", "c2"), ("g1", "g2"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[", "the file: Invalid JSON"),
        ('["a"]', "one list of prompts for each class"),
        ('{"cut": ["a", ""], "good": ["b", "c"]}', "cut/1: String should have at least 1"),
        ('{"cut": ["a\\u0000"], "good": ["b"]}', "cut/0: String should match"),
        ('{"cut": ["a"], "good": []}', "no prompt for 'good'"),
        ('{"cut": ["a"]}', "no prompt for 'good'"),
        ('{"cut": ["a"], "good": ["b"], "fold": ["c"]}', "'fold': no such class in --private"),
        ('{"cut": ["a"], "good": ["b", "c"]}', "as many prompts as every other"),
        (json.dumps({"cut": ["a" * 1001], "good": ["b"]}), "cut/0: String should have at most 1000"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, content: str, reason: str):
    path = tmp_path / "prompts.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=reason):
        of(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match=r"gone\.json: No such file"):
        of(tmp_path / "gone.json")
