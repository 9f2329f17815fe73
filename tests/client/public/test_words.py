"""Prompts from public words: different ones, that say the class, and nothing that words of a user's can bend."""

from __future__ import annotations

from pcevolve.public.fields import TEMPLATE
from pcevolve.public.words import MOST, fill, make_prompts


def test_all_prompts_of_the_grammar_differ_and_name_what_is_shown():
    made = make_prompts("leather texture", "cut", MOST)
    assert len(set(made)) == MOST
    assert all("leather texture" in each and "cut" in each for each in made)
    assert not any("{" in each for each in made)


def test_the_first_is_the_one_that_a_run_without_prompts_asks_with():
    assert make_prompts("leather texture", "cut", 1) == (fill(TEMPLATE, "leather texture", "cut"),)
    assert make_prompts("leather texture", "cut", 7) == make_prompts("leather texture", "cut", MOST)[:7]


def test_words_that_look_like_places_stay_words():
    assert "{label} x" in make_prompts("{label} x", "cut")[0]
    assert fill("{domain}/{label}", "{label}", "{domain}") == "{label}/{domain}"
