"""What a text is: one line that shows, in one normal form, whatever a provider or a file holds."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.modality import find_medium
from pcevolve.modality.medium import UnreadableError
from pcevolve.modality.texts import MOST_BYTES, normalise, read_text

TEXTS = find_medium("text")


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (b"  a  bird\n\tof prey ", "a bird of prey"),
        ("e\u0301t\u00e9".encode(), "\u00e9t\u00e9"),
        ("safe\u202etxt.exe".encode(), "safetxt.exe"),
        (b"\x1b[31mred\x1b[0m \x07", "[31mred[0m"),
        ("zero\u200bwidth\ufeff".encode(), "zerowidth"),
        (b"<b>&amp;</b>", "<b>&amp;</b>"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645".encode(),
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        ),
        (b"", None),
        (b" \n\x00", None),
        (b"\xff\xfe", None),
        ("half a pair \ud800".encode("utf-8", "surrogatepass"), None),
        (b"a" * (MOST_BYTES + 1), None),
    ],
)
def test_what_was_sent_is_read_as(sent, text):
    assert read_text(sent) == text


@given(st.text())
def test_a_normal_form_stays_as_it_is_and_shows(text):
    once = normalise(text)
    assert normalise(once) == once
    assert once == once.strip()
    assert "\n" not in once
    assert not any(unicodedata.category(each) in ("Cc", "Cs") for each in once)


@given(st.binary(max_size=200))
def test_what_is_released_is_a_line_that_is_read_back(data):
    try:
        released = TEXTS.encode_release(data)
    except UnreadableError:
        assert read_text(data) is None
        return
    assert released.endswith(b"\n")
    assert read_text(released) == read_text(data) == TEXTS.decode(data)
    assert TEXTS.compare(released + b" ", released, exact=True).fault
