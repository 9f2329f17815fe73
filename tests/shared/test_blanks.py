"""A question about blanks is read as it was asked, and nothing else is taken for one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pcevolve_shared.blanks import INSTRUCTION, parse_question, question

LINES = st.text(max_size=60).filter(lambda text: INSTRUCTION not in text)


@given(LINES, st.text(st.characters(exclude_characters="\n"), max_size=60))
def test_a_question_is_read_as_it_was_asked(prompt, blanked):
    assert parse_question(question(prompt, blanked)) == (prompt, blanked)


@given(LINES)
def test_any_other_message_is_no_question_about_blanks(message):
    assert parse_question(message) is None
