"""``pcevolve budget cap``: the cap is in the ledger, raising it is asked about, and all of it is in the history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.accounts import account, pay, set_cap

LEDGER = ("--ledger", "ledger.sqlite")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def answer(monkeypatch):
    """Somebody at a terminal who answers every question alike; what was asked."""
    asked: list[str] = []

    def sit(says: bool) -> list[str]:
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("click.confirm", lambda question, err: asked.append(question) or says)
        return asked

    return sit


def test_a_cap_is_set_before_any_run_without_a_question_and_made_smaller_likewise(command):
    for epsilon, told in (("10", "epsilon 10 at delta 1e-05"), ("8.5", "epsilon 8.5 at delta 1e-05")):
        assert command("budget", "cap", epsilon, *LEDGER).code == 0
        assert told in command("budget", "cap", *LEDGER).out
    rows = json.loads(command("budget", "history", "--json", *LEDGER).out)
    assert [row["cap"] for row in rows] == [
        {"epsilon": "10", "delta": 1e-5},
        {"epsilon": "17/2", "delta": 1e-5},
    ]


@pytest.mark.parametrize("more", [("20",), ("10", "--delta", "0.1"), ("9", "--delta", "0.1")])
def test_a_cap_is_raised_only_by_somebody_who_agrees(command, answer, more):
    set_cap(Path("ledger.sqlite"), 10, 1e-5)
    refused = command("budget", "cap", *more, *LEDGER)
    assert refused.code == 2
    assert (
        "would let runs spend more than the present rule (all runs together may spend epsilon 10 at"
        in refused.said
    )
    assert refused.said.endswith(": confirm the change at a terminal, or give --yes")
    asked = answer(False)
    declined = command("budget", "cap", *more, *LEDGER)
    assert (declined.code, "the cap was not changed" in declined.said) == (0, True)
    assert "epsilon 10 at delta 1e-05" in command("budget", "cap", *LEDGER).out
    answer(True)
    assert command("budget", "cap", *more, *LEDGER).code == 0
    assert len(asked) == 2
    assert "may spend epsilon 10 at delta 1e-05 on any one image, text or patient)" in asked[0]
    shown = command("budget", "history", *LEDGER).out
    assert shown.count("cap") == 2


def test_the_first_cap_is_asked_about_where_runs_have_begun(command, answer):
    pay(account(Path("ledger.sqlite")), 1)
    assert command("budget", "cap", "20", *LEDGER).code == 2
    assert "no cap: a run is refused if it and earlier runs" in command("budget", "cap", *LEDGER).out
    answer(True)
    assert command("budget", "cap", "20", *LEDGER).code == 0
    assert "all runs together may spend epsilon 20 at delta 1e-05" in command("budget", "show", *LEDGER).out


@pytest.mark.parametrize(("cap", "is_used_up"), [("0.5", True), ("0.9949", True), ("2", False)])
def test_a_cap_below_what_is_spent_says_that_no_run_on_these_data_can_follow(command, cap, is_used_up):
    pay(account(Path("ledger.sqlite")), 1)
    told = command("budget", "cap", cap, "--yes", *LEDGER).out
    spent = "epsilon 0.994966 is already spent on the most exposed image, so no further run on the same data can start"
    assert (spent in told) == is_used_up


@pytest.mark.parametrize("words", [("status",), ("budget", "show"), ("budget", "history"), ("budget", "cap")])
def test_before_the_first_run_there_is_no_ledger_which_is_no_error(command, words):
    told = command(*words, *LEDGER)
    assert (told.code, told.said) == (0, "")
    assert told.out.startswith("there is no ledger yet at ledger.sqlite, so no run has spent anything")
    assert told.out.count("\n") == 1
    if words != ("budget", "cap"):
        told = command(*words, "--json", *LEDGER)
        assert (told.code, json.loads(told.out)) == (0, [])
    Path("ledger.key").touch()
    assert command(*words, *LEDGER).code == 4, "the ledger of this key is gone"


@pytest.mark.parametrize("words", [("0",), ("x",), ("nan",), ("10", "--delta", "1")])
def test_a_cap_that_is_none_is_refused_and_no_ledger_is_made(command, words):
    assert command("budget", "cap", *words, *LEDGER).code == 2
    assert not Path("ledger.sqlite").exists()


def test_a_cap_outside_of_its_volume_is_refused_in_a_container(command, monkeypatch):
    monkeypatch.setenv("PCEVOLVE_LEDGER_VOLUME", "/proc")
    assert command("budget", "cap", "10", *LEDGER).code == 4
    assert not Path("ledger.sqlite").exists()


def test_a_plan_is_printed_as_a_table_or_as_json(command):
    plan = ("budget", "plan", "--epsilon", "2", "--method", "pe", "--shots", "10")
    assert "Plan of pe" in command(*plan).out
    printed = command(*plan, "--json").out
    assert printed.startswith('{\n "')
    assert json.loads(printed)["method"] == "pe"
