"""``run --resume RUN`` needs nothing else, and Ctrl-C says what was spent and how to go on."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pcevolve.auditing import audit
from pcevolve.keeper.ledger.history import LedgerBook
from pcevolve.wire import execution
from support import online
from support.accounts import set_cap
from support.online import Heard, Reply


def test_a_run_goes_on_by_its_folder_alone_from_anywhere(cut_off, tmp_path, monkeypatch, command):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert command("run", "--resume", cut_off).code == 0
    assert all(finding.holds for finding in audit(cut_off))


def test_a_run_whose_budget_another_used_up_meanwhile_goes_on_as_its_refusal_advises(cut_off, words, command):
    set_cap(Path("ledger/ledger.sqlite"), 15)
    assert command(*words(out="other", domain="leather", iterations=1)).code == 0
    refused = command("run", "--resume", "run")
    assert refused.code == 4
    assert "set a cap for all runs with pcevolve budget cap" in refused.said
    assert command("run", "--resume", "run", "--set", "privacy.lifetime_epsilon=20").code == 4
    assert command("budget", "cap", "20", "--yes", "--ledger", "ledger/ledger.sqlite").code == 0
    assert command("run", "--resume", "run").code == 0


def test_an_option_that_a_run_did_not_begin_with_is_named_as_it_was_typed(cut_off, command, server):
    for changed, told in (
        ("--candidates 3", "--candidates differs from the value that this run began with (2)"),
        ("--private elsewhere", "--private differs from the value that this run began with (/"),
        ("--out other", "--resume run and --out other are different folders: leave --out out"),
        ("--set data.subsample=4", "data.subsample 4 and --shots 1 differ"),
        ("--candidates none", "--candidates: Input should be a valid integer"),
    ):
        refused = command("run", "--resume", "run", *changed.split())
        assert refused.code == 2
        assert told in refused.said
    assert server.heard == []


def test_private_images_that_were_moved_to_another_class_are_other_data(cut_off, command, server):
    def exchange() -> None:
        one, other = (Path("private") / label / "a.png" for label in ("cut", "good"))
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)

    exchange()
    refused = command("run", "--resume", "run")
    assert (refused.code, server.heard) == (4, [])
    assert "but a label or a declared secret has changed" in refused.said
    exchange()
    assert command("run", "--resume", "run").code == 0


def test_an_unfinished_run_audits_as_unfinished_with_an_exit_code_of_its_own(cut_off, command):
    stored = cut_off / "transcript" / "bodies" / hashlib.sha256(b"answer").hexdigest()
    stored.write_bytes(b"answer")  # of a crash before the record's line: no fault
    told = command("audit", cut_off)
    assert told.code == 9
    line = told.said.partition("UNFINISHED")[2]
    assert "the run did not finish" in line
    assert f"continue it with pcevolve run --resume {cut_off}" in line
    assert command("run", "--resume", "run").code == 0
    assert not stored.exists()
    assert command("audit", cut_off).code == 0


def test_what_is_broken_in_an_unfinished_run_is_broken(cut_off, command):
    (cut_off / "release").mkdir()
    told = command("audit", cut_off)
    assert told.code == 1
    assert "but the folder contains release" in told.said
    (cut_off / "release").rmdir()
    (cut_off / "transcript" / "bodies" / "notes.txt").write_text("x")
    assert command("audit", cut_off).code == 1


def test_a_run_that_was_cut_off_before_it_was_published_is_unfinished_and_goes_on(
    words, command, monkeypatch
):
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(execution, "publish", die)
        assert command(*words()).code == 130
    assert not Path("run/release").exists()
    assert command("audit", "run").code == 9
    assert command("run", "--resume", "run").code == 0
    assert command("audit", "run").code == 0


def test_a_finished_run_that_is_resumed_is_called_finished_and_nothing_is_said_of_runs_since(words, command):
    assert command(*words()).code == 0
    first = command("run", "--resume", "run")
    assert first.code == 0
    assert "finished this run is already finished; nothing more was sent or spent" in first.said
    for absent in ("preview", "before", "so far", "resumed"):
        assert absent not in first.said, absent
    assert "was spent" in first.out


def test_a_run_that_cannot_be_read_is_listed_with_the_others(cut_off, words, command):
    assert command(*words(out="other", domain="leather", method="t2i", iterations=None)).code == 0
    (cut_off / "transcript" / "log.jsonl").write_text("torn\n")
    told = command("status", "--ledger", "ledger/ledger.sqlite")
    assert told.code == 0
    assert f"unreadable{cut_off}" in "".join(told.out.split())  # a table, which wraps long paths
    assert "leather" in told.out


def test_a_run_in_whose_folder_another_lies_by_now_is_gone(cut_off, words, command):
    shutil.rmtree(cut_off)
    assert command(*words(method="t2i", iterations=None)).code == 0
    rows = json.loads(command("status", "--ledger", "ledger/ledger.sqlite", "--json").out)
    assert [row["state"] for row in rows] == ["gone", "finished"]


def test_a_run_that_only_greeted_the_api_is_unfinished(words, server, command):
    server.speak = lambda heard: online.answer_json(503, {"error": "x", "errors": "loading"})
    assert command(*words(first_contact=0)).code == 6
    assert not Path("ledger/ledger.sqlite").exists()  # nothing was spent, so there is nothing to remember
    assert command("audit", "run").code == 9


def test_ctrl_c_on_the_way_says_what_was_spent_and_how_to_go_on(words, server, command):
    def stopping(heard: online.Heard) -> online.Reply:
        """Press Ctrl-C when a variation is asked for, and answer late."""
        if heard.path.endswith("img2img"):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.2)
        return online.a1111(heard)

    server.speak = stopping
    told = command(*words())
    assert told.code == 130
    (row,) = LedgerBook(Path("ledger/ledger.sqlite")).runs()
    assert row.epsilon == 5
    assert told.said.endswith(
        "stopped after 1 of 2 releases: epsilon 5 of 10 is spent; everything is on record "
        "to continue, without paying twice for anything: pcevolve run --resume run"
    )
    server.speak = online.a1111
    assert command("run", "--resume", "run").code == 0
    (row,) = LedgerBook(Path("ledger/ledger.sqlite")).runs()
    assert row.epsilon == 10


@pytest.mark.parametrize("differs", [False, True])
def test_a_preview_says_where_words_alone_will_not_do(words, command, server, differs):
    honest = server.speak

    def speak(heard: Heard) -> Reply:
        """Noise, of a tone of its own for each class where classes differ."""
        reply = honest(heard)
        if not heard.path.endswith("txt2img"):
            return reply
        good = b"with good" in heard.body
        light = 180 if differs and good else 0
        made = [paint(place + 100 * good, light) for place, _ in enumerate(json.loads(reply.body)["images"])]
        return online.answer_json(200, {"images": made, "info": "{}"})

    server.speak = speak
    asked = {"method": "pe", "epsilon": 8, "delta": 1e-5, "candidates": 8, "batch": 8}
    shown = command("preview", "--yes", *words(**asked)[1:])
    assert shown.code == 0
    assert ("words alone are not enough here" in shown.said) != differs


def paint(seed: int, light: int) -> str:
    pixels = np.random.default_rng(seed).integers(light, light + 70, (16, 16, 3)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


@pytest.mark.parametrize(("domain", "is_known"), [("histology", False), ("blood smear", True)])
def test_a_model_that_does_not_draw_the_domain_says_what_it_draws(
    words, command, server, monkeypatch, domain, is_known
):
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.KEY)
    best = {"steps": 4, "guidance": 1.0, "strength_low": 0.3, "strength_high": 0.9}
    told = {"recommended": best, "domains": ["blood smear", "chest x-ray"]}

    def speak(heard: Heard) -> Reply:
        reply = online.getimg(heard)
        if heard.path != "/v1/models":
            return reply
        return online.answer_json(200, [{**json.loads(reply.body)[0], **told}])

    server.speak = speak
    asked = {"dialect": None, "model": "bundled", "size": None, "batch": 1, "domain": domain}
    shown = command("preview", "--yes", *words(**asked)[1:])
    assert shown.code == 0, shown.said
    warned = (
        f"WARNING this model cannot draw '{domain}'. It can draw only blood smear, chest x-ray" in shown.said
    )
    assert warned != is_known
    assert ("docs/public-images.md" in shown.said) != is_known
