"""Prompts from public words: different ones, that say the class, and nothing that words of a user's can bend."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.fields import TEMPLATE
from pcevolve.public.wordings import MOST, filled, shown, usual_prompts


def test_all_prompts_of_the_grammar_differ_and_name_what_is_shown():
    made = usual_prompts("leather texture", "cut", MOST)
    assert len(set(made)) == MOST
    assert all("leather texture" in each and "cut" in each for each in made)
    assert not any("{" in each for each in made)


def test_the_first_is_the_one_that_a_run_without_prompts_asks_with():
    assert usual_prompts("leather texture", "cut", 1) == (filled(TEMPLATE, "leather texture", "cut"),)
    assert usual_prompts("leather texture", "cut", 7) == usual_prompts("leather texture", "cut", MOST)[:7]


def test_the_first_prompts_are_those_that_runs_of_earlier_versions_asked_with():
    made = usual_prompts("leather texture", "cut", 64)
    assert hashlib.sha256("\n".join(made).encode()).hexdigest().startswith("2367e54b5a7a7767")


@given(st.sampled_from([0, -1, MOST + 1]))
def test_more_than_the_grammar_has_is_an_error(count):
    with pytest.raises(ValueError, match=f"1 to {MOST}"):
        usual_prompts("leather texture", "cut", count)


def test_words_that_look_like_places_stay_words():
    assert "{label} x" in usual_prompts("{label} x", "cut")[0]
    assert filled("{domain}/{label}", "{label}", "{domain}") == "{label}/{domain}"


def test_prompts_in_a_line():
    assert [shown("a"), shown(["a", "b"]), shown(["a", "b", "c"])] == [
        "a",
        "a (and 1 other prompt)",
        "a (and 2 other prompts)",
    ]
