"""Captions: what a captioner says becomes one line in one spelling, and a measurement of them has one form."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pcevolve.public.captioning import (
    LONGEST,
    NOTHING_SAID,
    Captioner,
    captions_in,
    measurement_of,
    one_caption,
)


@given(st.text(max_size=600))
def test_whatever_is_said_becomes_one_visible_line_that_stays_as_it_is(said: str):
    caption = one_caption(said)
    assert one_caption(caption) == caption
    assert 0 < len(caption) <= LONGEST
    assert not any(unicodedata.category(each)[0] == "C" for each in caption)
    assert caption == " ".join(caption.split())
    assert captions_in(measurement_of([[caption]]), 1, 1) == ((caption,),)


@pytest.mark.parametrize("said", ["", "\n", "\u200b", "\ud800"])
def test_what_cannot_be_shown_is_said_to_be_nothing(said: str):
    assert one_caption(said) == NOTHING_SAID


@pytest.mark.parametrize(
    "said",
    [
        {"kind": "chat", "name": "eyes"},
        {"kind": "chat", "at": "http://127.0.0.1:9/v1"},
        {"kind": "model", "name": "eyes"},
        {"kind": "attributes", "at": "http://127.0.0.1:9/v1"},
        {"kind": "chat", "name": "eyes", "at": "http://user@127.0.0.1/v1"},
    ],
)
def test_a_plan_names_a_captioner_in_full_and_no_other(said: dict[str, str]):
    with pytest.raises(ValidationError, match=r"captioner|at\n"):
        Captioner.model_validate(said)


def test_a_captioner_is_named_for_people():
    assert Captioner().spelled == "measured attributes"
    assert Captioner(kind="chat", name="eyes", at="http://h/v1").spelled == "eyes at http://h/v1"
    assert Captioner(kind="model", name="eyes", weights="0" * 64).spelled.startswith("the model eyes on")
