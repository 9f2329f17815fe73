"""What a process with private data tells its owner, and what of it a log keeps."""

from __future__ import annotations

import io
import os
import pty
import sys

import pytest

from pcevolve.keeper import screen
from pcevolve.keeper.screen import OwnerScreen
from pcevolve.public.screen import Fact

FACTS = [
    Fact("ledger", "/home/owner/ledger.sqlite", ""),
    Fact("passed over", "no images, 2: a/notes.txt, b/notes.txt"),
    Fact("time", "private work is padded", "padded"),
]


def open_terminal(monkeypatch) -> int:
    """Be the owner's terminal; what is written to it can be read from here."""
    mine, theirs = pty.openpty()
    monkeypatch.setattr(sys, "stderr", os.fdopen(theirs, "w"))
    return mine


def read_terminal(terminal: int) -> bytes:
    """All that was written to it."""
    print("END", end="", file=sys.stderr, flush=True)
    said = b""
    while not said.endswith(b"END"):  # a terminal passes on what it gets when it likes
        said += os.read(terminal, 4096)
    return said.removesuffix(b"END")


def test_a_log_is_told_a_share_and_no_count_and_no_time(monkeypatch, capsys):
    monkeypatch.setattr(screen, "LINE_SECONDS", -1.0)
    with OwnerScreen().show_work("embedding private images") as show_progress:
        show_progress(1234, 4321)
        show_progress(4321, 4321)
    assert capsys.readouterr().err.splitlines() == [
        "embedding private images: 29%",
        "embedding private images: 100%",
    ]


def test_a_terminal_is_told_count_and_time_and_nothing_of_it_stays(monkeypatch):
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(screen, "_SHOWN_EVERY", -1.0)
    with OwnerScreen().show_work("reading") as show_progress:
        show_progress(1, 2)
    assert read_terminal(terminal) == b"\r\x1b[Kreading: 1/2, less than a minute left\r\x1b[K"


def test_work_that_ends_at_once_leaves_no_trace_on_a_terminal(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with OwnerScreen().show_work("reading") as show_progress:
        show_progress(1, 2)
    assert read_terminal(terminal) == b""


def test_facts_stand_beneath_their_titles_and_what_is_told_in_brief_is_left_out(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    OwnerScreen().print_facts(FACTS)
    assert capsys.readouterr().err.splitlines() == [
        "passed over no images, 2: a/notes.txt,",
        "            b/notes.txt",
        "time        padded",
    ]
    OwnerScreen(verbose=True).print_facts(FACTS[:1])
    assert "/home/owner/ledger.sqlite" in "".join(capsys.readouterr().err.split())


def test_a_name_commands_no_terminal_and_who_wants_quiet_hears_nothing(monkeypatch):
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    OwnerScreen().print("folder \x1b[31mred\x07 name")
    assert said.getvalue() == "folder  [31mred  name\n"
    quiet = OwnerScreen(quiet=True)
    quiet.print("more")
    quiet.print_facts(FACTS)
    assert said.getvalue() == "folder  [31mred  name\n"


@pytest.mark.parametrize(("said", "found"), [("1", True), ("0", False), ("", False)])
def test_a_terminal_is_one_where_the_environment_says_so(monkeypatch, said, found):
    monkeypatch.setenv("TTY_COMPATIBLE", said)
    assert OwnerScreen().is_terminal is found
    assert not OwnerScreen(quiet=True).is_terminal
