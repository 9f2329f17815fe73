"""Words that the bundled model knows: whether it draws what a domain is called."""

import pytest

from pcevolve_shared.bundled import draws


@pytest.mark.parametrize(
    ("domain", "is_drawn"),
    [
        *(("blood smear", True), ("Chest X-Ray", True), ("steel surface", True), ("handwritten marks", True)),
        *(("histology", False), ("leather texture", False), ("dermatology photo", False), ("leaf", False)),
    ],
)
def test_a_domain_is_drawn_if_it_shares_a_word_with_one_that_the_model_knows(domain: str, is_drawn: bool):
    assert draws(domain) == is_drawn


def test_another_model_s_words_are_asked_for_as_well():
    assert draws("apple leaf", ("leaf",))
    assert not draws("blood smear", ("leaf",))
