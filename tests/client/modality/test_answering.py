"""From a rewriter's answer to a prompt: anything odd leaves the prompt as it was."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.modality.answering import LONGEST, read_rewording

BEFORE = "A leather image with cut"


@pytest.mark.parametrize(
    ("said", "prompt"),
    [
        ("A deep cut in brown leather, soft light", "A deep cut in brown leather, soft light"),
        ('  "A deep cut."\n', "A deep cut."),
        ("Here is another prompt:\n\nA deep cut, 5 cm long\n", "A deep cut, 5 cm long"),
        ("Ein tiefer Schnitt – größer", "Ein tiefer Schnitt – größer"),
        ("皮革上的一道深切口，柔和的光线".replace("，", ", "), "皮革上的一道深切口, 柔和的光线"),
        ("cafe\u0301 leather", "caf\u00e9 leather"),
    ],
)
def test_one_plain_line_is_the_prompt(said: str, prompt: str):
    assert read_rewording(said, BEFORE) == prompt


ODD = {
    "nothing": "",
    "blanks": " \n\t ",
    "no letters": "12, 34.",
    "several lines": "A deep cut\nA long cut",
    "a megabyte": "cut " * 2**18,
    "one that is too long": "c" * (LONGEST + 1),
    "a refusal": "I'm sorry, but I can't help with that request.",
    "a refusal elsewhere": "Es tut mir leid, ich kann dabei nicht helfen.",
    "a control character": "A deep\x00 cut",
    "a terminal's command": "A deep \x1b[2J cut",
    "a change of direction": "A deep \u202e cut",
    "a character of no width": "A deep\u200b cut",
    "an odd blank": "A deep\u00a0cut",
    "weights of a web UI": "A (deep:1.4) cut",
    "a network of a web UI": "A cut <lora:cut:1>",
    "words of a web UI": "A cut AND a hole",
    "a comment": "A cut #1",
    "parameters": "A cut --ar 16-9",
    "a wildcard": "A __colour__ cut",
    "a template": "A {domain} cut",
    "code": "`A deep cut`",
    "half a pair": "A deep \ud800 cut",
}


@pytest.mark.parametrize("said", ODD.values(), ids=ODD)
def test_anything_odd_leaves_the_prompt_as_it_was(said: str):
    assert read_rewording(said, BEFORE) == BEFORE


@given(st.text())
def test_whatever_is_said_a_prompt_is_short_printable_and_stays_what_it_is(said: str):
    prompt = read_rewording(said, BEFORE)
    assert prompt == BEFORE or (0 < len(prompt) <= LONGEST and prompt.isprintable())
    assert not set(prompt) & set("()[]{}<>:\\|#*_`$@=^~")
    assert read_rewording(prompt, BEFORE) == prompt
    assert prompt == unicodedata.normalize("NFC", prompt)
    prompt.encode()
