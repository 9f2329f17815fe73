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
from support.provider import png
from support.typed import typed


@pytest.fixture
def options(server, tmp_path, monkeypatch) -> list[str]:
    """Of a small run with two rounds; all paths are relative to the working directory."""
    for seed, label in enumerate(("cut", "good")):
        (tmp_path / "private" / label).mkdir(parents=True)
        (tmp_path / "private" / label / "a.png").write_bytes(png(seed))
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    monkeypatch.chdir(tmp_path)
    return [
        "run",
        *typed(
            **{"private": "private", "domain": "scratch", "method": "pcevolve", "yes": True, "shots": 1},
            **{"api": server.address, "dialect": "a1111", "model": "v1-5", "patience": 0, "pad_selection": 0},
            **{
                "candidates": 2,
                "batch": 2,
                "size": 16,
                "iterations": 2,
                "out": "run",
                "ledger": "ledger.sqlite",
            },
        ),
    ]


def ended(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[str]]:
    """Exit code of a command, and the lines that it told last."""
    capsys.readouterr()
    code = 0
    try:
        main([str(each) for each in arguments])
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    return code, capsys.readouterr().err.splitlines()


@pytest.fixture
def cut_off(server, options, capsys) -> Path:
    """A run that paid for its first round and then lost its API."""
    server.speak = lambda heard: (
        online.said(500, {"error": "RuntimeError", "errors": "out of memory"})
        if heard.path.endswith("img2img")
        else online.a1111(heard)
    )
    assert ended(capsys, *options)[0] == 6
    server.speak = online.a1111
    return Path("run").absolute()


def test_a_run_goes_on_by_its_folder_alone_from_anywhere(cut_off, tmp_path, monkeypatch, capsys):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, _ = ended(capsys, "run", "--resume", cut_off)
    assert code == 0
    assert all(finding.holds for finding in audit(cut_off))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (("--candidates", "3"), "--candidates is not what this run began with, which was 2"),
        (("--private", "elsewhere"), "--private is not what this run began with, which was /"),
        (("--out", "other"), "--resume run and --out other are two folders: leave --out out"),
        (("--set", "data.subsample=4"), "data.subsample 4 and --shots 1 differ"),
        (("--candidates", "none"), "--candidates: Input should be a valid integer"),
    ],
)
def test_an_option_that_a_run_did_not_begin_with_is_named_as_it_was_typed(
    cut_off, capsys, server, changed, told
):
    server.heard.clear()
    code, lines = ended(capsys, "run", "--resume", "run", *changed)
    assert (code, len(lines)) == (2, 1)
    assert told in lines[0]
    assert server.heard == []


def test_an_unfinished_run_audits_as_unfinished_with_an_exit_code_of_its_own(cut_off, capsys):
    code, told = ended(capsys, "audit", cut_off)
    assert code == 9
    (line,) = [each for each in told if "UNFINISHED" in each]
    assert "the end of its record is not anchored" in line
    assert line.endswith(f"pcevolve run --resume {cut_off} goes on")
    assert ended(capsys, "run", "--resume", "run")[0] == 0
    assert ended(capsys, "audit", cut_off)[0] == 0


def test_a_run_that_was_cut_off_before_it_was_published_is_unfinished_and_goes_on(
    options, capsys, monkeypatch
):
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(execution, "publish", die)
        assert ended(capsys, *options)[0] == 130
    assert not Path("run/release").exists()
    assert ended(capsys, "audit", "run")[0] == 9
    assert ended(capsys, "run", "--resume", "run")[0] == 0
    assert ended(capsys, "audit", "run")[0] == 0


def test_what_is_broken_in_an_unfinished_run_is_broken(cut_off, capsys):
    (cut_off / "release").mkdir()
    code, told = ended(capsys, "audit", cut_off)
    assert code == 1
    assert "and yet there is release" in " ".join(told)
    (cut_off / "release").rmdir()
    (cut_off / "transcript" / "bodies" / "notes.txt").write_text("x")
    assert ended(capsys, "audit", cut_off)[0] == 1


def test_what_a_crash_has_stored_without_a_record_is_no_fault_of_an_unfinished_run(cut_off, capsys):
    name = hashlib.sha256(b"answer").hexdigest()
    (cut_off / "transcript" / "bodies" / name).write_bytes(b"answer")
    assert ended(capsys, "audit", cut_off)[0] == 9
    assert ended(capsys, "run", "--resume", "run")[0] == 0
    assert not (cut_off / "transcript" / "bodies" / name).exists()


def test_a_run_that_only_greeted_the_api_is_unfinished(options, server, capsys):
    server.speak = lambda heard: online.said(503, {"error": "x", "errors": "loading"})
    assert ended(capsys, *options, "--set", "provider.first_contact=0")[0] == 6
    assert ended(capsys, "audit", "run")[0] == 9


def stopping_at(heard_by: online.LocalServer, path: str) -> None:
    """Press Ctrl-C when a request to this path arrives, and answer it late."""

    def speak(heard: online.Heard) -> online.Reply:
        if heard.path.endswith(path):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.2)
        return online.a1111(heard)

    heard_by.speak = speak


def test_ctrl_c_on_the_way_says_what_was_spent_and_how_to_go_on(options, server, capsys):
    stopping_at(server, "img2img")
    code, told = ended(capsys, *options)
    assert code == 130
    (row,) = Ledger(Path("ledger.sqlite")).runs()
    assert row.epsilon == 5
    assert told[-2:] == [
        "stopped: 5 of epsilon 10 is spent, on 1 of 2 releases; all of it is on record",
        "to go on, without paying again for what is paid: pcevolve run --resume run",
    ]
    server.speak = online.a1111
    assert ended(capsys, "run", "--resume", "run")[0] == 0
    (row,) = Ledger(Path("ledger.sqlite")).runs()
    assert row.epsilon == 10
