"""The processes of a run, each taken over from its first line on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.processes.launcher import Child, Children, Words, _pass_on
from pcevolve.public.processes.pipe import Pipe, open_conversation
from support import intruder
from support.confined import confines

pytestmark = [confines, pytest.mark.system]
WORK = "support.planted:attack"


def start_children() -> Children:
    """As commands do; tests of one process have that function replaced (conftest.py)."""
    found = find_spec("pcevolve.public.processes.launcher")
    assert found is not None
    assert found.loader is not None
    again = module_from_spec(found)
    found.loader.exec_module(again)
    return again.start_children()


def test_no_process_waits_for_the_end_of_another():
    def start(code: str, *given: int) -> Child:
        own, others = open_conversation()
        process = subprocess.Popen(
            [sys.executable, "-c", f"import os\n{code}", *map(str, (others[0], *given))],
            pass_fds=(others[0], *given),
        )
        for each in others:
            os.close(each)
        return Child(process, Pipe(*own))

    until_told = "import sys; os.read(int(sys.argv[1]), 1)"
    reads, writes = os.pipe()
    keeper = start(until_told, writes)
    os.close(writes)
    # The runner ends only after the keeper, whose end of this pipe is the last.
    runner = start("import sys; os.read(int(sys.argv[2]), 1)", reads)
    os.close(reads)
    children = Children(keeper, runner, start(until_told), start(until_told))
    children.end()
    children.end()
    assert [child.process.returncode for child in (runner, keeper)] == [0, 0]


@pytest.mark.parametrize("role", ["keeper", "runner", "decoder"])
def test_a_process_that_was_taken_over_gets_past_nothing(
    role: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    numbers = intruder.read_headers(os.uname().machine) or pytest.skip(
        "the kernel's headers are not installed"
    )
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join(
            [str(Path(intruder.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    )
    kind = "keeper" if role == "decoder" else role  # confined as a keeper is, with fewer files
    before = os.umask(0o022)
    children = start_children()
    os.umask(before)
    try:
        child = getattr(children, role)
        child.order(
            WORK,
            [str(folder / "shared")],
            [str(folder / "own")],
            kind=kind,
            numbers=numbers,
            folder=str(folder),
        )
        children.runner.pass_on_words()
        name, body = child.pipe.receive()
        child.end()
    finally:
        children.end(kill=True)
    found = json.loads(body)
    assert found.pop("tried") >= 150
    # What has private files makes none that others can read.
    assert found.pop("umask") == (0o022 if role == "runner" else 0o077)
    assert found.pop("enforced").startswith("enforced by the kernel (Landlock ")
    assert (name, found) == ("found", {"past": [], "files": [], "open": []})
    # A keeper writes to its owner's terminal, a runner into a pipe, which has no other words in it; a decoder nowhere.
    said = "" if role == "decoder" else f"a {kind} that was taken over\n"
    assert capfd.readouterr() == ("", said)


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
