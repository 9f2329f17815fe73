"""A chat API that sends anything: over real sockets, through the whole command, down to pages and release."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pcevolve.auditing import audit
from pcevolve.cli import main as cli
from pcevolve.errors import ProviderReplyError
from pcevolve.modality.texts.reading import plain
from support import online
from support.online import Heard, Reply, said
from support.typed import typed

NASTY = {
    "control sequences": "\x1b]0;owned\x07\x1b[2Jred \x1b[31malert",
    "markup": "<script>alert(1)</script><img src=x onerror=alert(2)> & {{ 7 * 7 }}",
    "right to left": "abc\u202egnp.exe \u2066hidden\u2069",
    "nothing": " \n\t\u200b",
    "a long word": "x" * 2500,
    "the question itself": "Fill in every blank (_) of the text below\n\n_ _ _",
    "another line of a record": '"}\n{"kind":"released"}',
    "null": "a\0b",
}


def answering(content: str | None):
    """An API whose every second text of a class is this."""
    made = Counter()

    def speak(heard: Heard) -> Reply:
        honest = online.chat(heard)
        if heard.method == "GET" or honest.status != 200:
            return honest
        answer = json.loads(honest.body)
        asked = json.loads(heard.body)["messages"][-1]["content"]
        label = next((each for each in ("cut", "good") if each in asked), None)
        if label is None:  # whether it writes two texts at once
            return honest
        for choice in answer["choices"]:
            made[label] += 1
            if made[label] % 2:
                choice["message"]["content"] = content
        return said(200, answer)

    return speak


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    path.write_text("text,label\na bird,cut\na boat,cut\na fever,good\nthe lung,good\n")
    return path


def run(tmp_path: Path, texts: Path, server: online.LocalServer) -> Path:
    key = tmp_path / "key"
    key.write_text(online.KEY + "\n")
    key.chmod(0o600)
    out = tmp_path / "run"
    options = {
        "private": texts,
        "domain": "note",
        "out": out,
        "ledger": tmp_path / "ledger.sqlite",
        "method": "pe",
    }
    options |= {"api": server.address, "api_key_file": key, "dialect": "chat", "model": "bundled", "shots": 2}
    options |= {"candidates": 8, "iterations": 2, "pad_selection": 0, "tokens": 40}
    cli.app(["run", "--yes", *map(str, typed(**options))], standalone_mode=False)
    return out


@pytest.mark.parametrize("content", NASTY.values(), ids=NASTY)
def test_whatever_a_text_holds_the_run_ends_and_shows_nothing_of_it(tmp_path, texts, capfd, content):
    server = online.LocalServer(answering(content))
    try:
        out = run(tmp_path, texts, server)
    finally:
        server.close()
    shown = capfd.readouterr()
    assert not any(each in shown.out + shown.err for each in ("\x1b]", "\x07", "\u202e", "\u2066"))
    assert [fault for finding in audit(out) for fault in finding.faults] == []
    for page in (out / "report.html", out / "preview.html"):
        written = page.read_text("utf-8")
        assert "<script>alert" not in written
        assert "<img src=x" not in written
        assert not any(each in written for each in ("\x1b", "\u202e", "\u2066", "\x00"))
    released = [path.read_text("utf-8") for path in (out / "release").rglob("*.txt")]
    assert all(text == f"{plain(text)}\n" for text in released)
    assert len(released) == 16 if plain(content) and content.isascii() else len(released) <= 16


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("word " * 200_000, "longer than|a text of"),
        ("y" * 5000, "a text of 5000 bytes where 40 tokens"),
        ("half a pair \ud83d", "breaks the contract"),
    ],
)
def test_what_is_far_too_long_or_no_text_at_all_is_refused(tmp_path, texts, content, complaint):
    server = online.LocalServer(answering(content))
    try:
        with pytest.raises(ProviderReplyError, match=complaint):
            run(tmp_path, texts, server)
    finally:
        server.close()
