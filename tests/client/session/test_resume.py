"""``run --resume RUN`` needs nothing else, and Ctrl-C says what was spent and how to go on."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from pathlib import Path

import pytest

from pcevolve.auditing import audit
from pcevolve.cli.main import main
from pcevolve.ledger.ledger import Ledger
from pcevolve.session import execution
from support import online


@pytest.fixture
def ended(capsys):
    """Exit code of a command, and the lines that it told last."""

    def command(*arguments: object) -> tuple[int, list[str]]:
        capsys.readouterr()
        code = 0
        try:
            main([str(each) for each in arguments])
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        return code, capsys.readouterr().err.splitlines()

    return command


@pytest.fixture
def cut_off(server, words, ended, broken_img2img) -> Path:
    """A run that paid for its first round and then lost its API."""
    assert ended(*words())[0] == 6
    server.speak = online.a1111
    server.heard.clear()
    return Path("run").absolute()


def test_a_run_goes_on_by_its_folder_alone_from_anywhere(cut_off, tmp_path, monkeypatch, ended):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert ended("run", "--resume", cut_off)[0] == 0
    assert all(finding.holds for finding in audit(cut_off))


def test_an_option_that_a_run_did_not_begin_with_is_named_as_it_was_typed(cut_off, ended, server):
    for changed, told in (
        ("--candidates 3", "--candidates is not what this run began with, which was 2"),
        ("--private elsewhere", "--private is not what this run began with, which was /"),
        ("--out other", "--resume run and --out other are two folders: leave --out out"),
        ("--set data.subsample=4", "data.subsample 4 and --shots 1 differ"),
        ("--candidates none", "--candidates: Input should be a valid integer"),
    ):
        code, lines = ended("run", "--resume", "run", *changed.split())
        assert (code, len(lines)) == (2, 1)
        assert told in lines[0]
    assert server.heard == []


def test_an_unfinished_run_audits_as_unfinished_with_an_exit_code_of_its_own(cut_off, ended):
    stored = cut_off / "transcript" / "bodies" / hashlib.sha256(b"answer").hexdigest()
    stored.write_bytes(b"answer")  # of a crash before the record's line: no fault
    code, told = ended("audit", cut_off)
    assert code == 9
    (line,) = [each for each in told if "UNFINISHED" in each]
    assert "the end of its record is not anchored" in line
    assert line.endswith(f"pcevolve run --resume {cut_off} goes on")
    assert ended("run", "--resume", "run")[0] == 0
    assert not stored.exists()
    assert ended("audit", cut_off)[0] == 0


def test_what_is_broken_in_an_unfinished_run_is_broken(cut_off, ended):
    (cut_off / "release").mkdir()
    code, told = ended("audit", cut_off)
    assert code == 1
    assert "and yet there is release" in " ".join(told)
    (cut_off / "release").rmdir()
    (cut_off / "transcript" / "bodies" / "notes.txt").write_text("x")
    assert ended("audit", cut_off)[0] == 1


def test_a_run_that_was_cut_off_before_it_was_published_is_unfinished_and_goes_on(words, ended, monkeypatch):
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(execution, "publish", die)
        assert ended(*words())[0] == 130
    assert not Path("run/release").exists()
    assert ended("audit", "run")[0] == 9
    assert ended("run", "--resume", "run")[0] == 0
    assert ended("audit", "run")[0] == 0


def test_a_run_that_only_greeted_the_api_is_unfinished(words, server, ended):
    server.speak = lambda heard: online.said(503, {"error": "x", "errors": "loading"})
    assert ended(*words(first_contact=0))[0] == 6
    assert ended("audit", "run")[0] == 9


def test_ctrl_c_on_the_way_says_what_was_spent_and_how_to_go_on(words, server, ended):
    def stopping(heard: online.Heard) -> online.Reply:
        """Press Ctrl-C when a variation is asked for, and answer late."""
        if heard.path.endswith("img2img"):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.2)
        return online.a1111(heard)

    server.speak = stopping
    code, told = ended(*words())
    assert code == 130
    (row,) = Ledger(Path("ledger.sqlite")).runs()
    assert row.epsilon == 5
    assert told[-2:] == [
        "stopped: 5 of epsilon 10 is spent, on 1 of 2 releases; all of it is on record",
        "to go on, without paying again for what is paid: pcevolve run --resume run",
    ]
    server.speak = online.a1111
    assert ended("run", "--resume", "run")[0] == 0
    (row,) = Ledger(Path("ledger.sqlite")).runs()
    assert row.epsilon == 10
