"""What a runner prints: colours and bars as they are, and nothing else that commands a terminal."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.processes.launcher import _pass_on
from pcevolve.public.processes.words import Words

HARMLESS = ["\x1b[1;32mgreen\x1b[0m", "\r\x1b[2K 40 %", "\x1b[?25l", "\x1b[?25h", "zwölf\n", "ε = 3"]


@pytest.mark.parametrize("said", HARMLESS)
def test_colours_and_bars_come_through(said: str):
    assert Words().add(said.encode()) == said


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("\x1b[2J\x1b[1;1Herror: none", " [2J [1;1Herror: none"),
        ("\x1b[5A\x1b[2Ktoken?", " [5A\x1b[2Ktoken?"),
        ("\x1b]0;title\x07", " ]0;title "),
        ("\x1b]52;c;Y3VybA==\x07", " ]52;c;Y3VybA== "),
        ("\x1b[6n\x1b[c", " [6n [c"),
        ("\x1bP+q\x1b\\", " P+q \\"),
        ("\x9b2J", " 2J"),
        ("a\x08b\x00c\x7fd\te", "a b c d e"),
        ("\u202egnp.exe\u200b", " gnp.exe "),
        ("\x1b[?1049h\x1b[?1000h", " [?1049h [?1000h"),
    ],
)
def test_what_moves_asks_hides_or_names_a_window_is_blank(said: str, shown: str):
    assert Words().add(said.encode()) == shown


@given(st.lists(st.sampled_from([*HARMLESS, "\x1b[2J", "\x1b[5A", "\x1b]0;a\x07", "\x1b", "["])), st.data())
def test_it_does_not_matter_in_which_pieces_words_come(said: list[str], data: st.DataObject):
    whole = "".join(said).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    words, once = Words(), Words()
    pieces = [whole[first:last] for first, last in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert "".join(map(words.add, pieces)) + words.end() == once.add(whole) + once.end()


def test_while_a_person_is_asked_nothing_is_printed_and_no_colour_outlasts_its_words():
    (theirs, ours), (shown, terminal) = os.pipe(), os.pipe()
    silence = threading.Lock()
    thread = threading.Thread(target=_pass_on, args=[theirs, terminal, silence])
    with silence:
        thread.start()
        os.write(ours, b"\r\x1b[2Kyour password: ")
        os.close(ours)
        thread.join(0.2)
        os.set_blocking(shown, False)
        with pytest.raises(BlockingIOError):
            os.read(shown, 1)
    thread.join()
    assert os.read(shown, 100) == b"\r\x1b[2Kyour password: \x1b[0m"
    for each in (theirs, shown, terminal):
        os.close(each)
