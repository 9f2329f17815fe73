"""What somebody reads of a run: few lines at 80 columns with what has to be known, and everything if asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pcevolve.cli import main as cli
from pcevolve.session.console import after
from support import online
from support.provider import png
from support.typed import typed

pytestmark = pytest.mark.system
MOST_LINES = 20


@pytest.fixture
def words(server, tmp_path, monkeypatch) -> list[object]:
    """A small run by the default method; all of it in one folder."""
    for seed, label in enumerate(("cut", "good")):
        (tmp_path / "private" / label).mkdir(parents=True)
        for number in range(3):
            (tmp_path / "private" / label / f"{number}.png").write_bytes(png(seed + 10 * number))
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    monkeypatch.chdir(tmp_path)
    return [
        "run",
        *typed(
            **{"private": "private", "domain": "scratch", "out": "r", "yes": True, "shots": 3},
            **{"api": server.address, "dialect": "a1111", "model": "v1-5", "method": "pcevolve"},
            **{"candidates": 2, "iterations": 1, "size": 16, "pad_selection": 0.1, "ledger": "ledger.sqlite"},
        ),
    ]


def told(words: list[object], *more: str) -> list[str]:
    """The lines of stdout and stderr, at 80 columns."""
    result = CliRunner().invoke(cli.app, [*map(str, words), *more], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    # A machine under load may take longer than a tick, of which the owner is warned.
    return [line for line in result.output.splitlines() if line.strip() and not line.startswith("WARNING")]


def test_a_run_tells_its_story_in_a_screen(words):
    lines = told(words)
    assert len(lines) <= MOST_LINES, "\n".join(lines)
    assert max(map(len, lines)) <= 80
    story = " ".join(" ".join(lines).split())
    for part in (
        "private 2 classes, 3 images each",
        "requests for",
        "prompts, and images that the server itself had made. No private image.",
        "privacy epsilon 10 at delta 0, for one image exchanged for another: who wrongly accuses 5 of 100 outsiders",
        "public names 'cut', 'good'; words 'scratch'; 3 images in a class",
        "ledger new: it knows of no earlier run on these data",
        "dataset r/release (4 images, 2 classes)",
        "epsilon 10 of 10 was spent",
        "verdict not known: pcevolve releases nothing that could tell how useful the dataset is",
        "next open r/report.html",
        "pcevolve audit r",
    ):
        assert part in story, story


def test_every_fact_is_told_to_whoever_asks(words):
    story = " ".join(" ".join(told(words, "--verbose")).split())
    for part in (
        "Before anything is spent",
        "selection lift",
        "assumed public",
        "cost of the whole",
        "bytes sent",
    ):
        assert part in story


def test_a_second_run_on_the_same_data_says_what_was_spent_before(words):
    told(words)
    again = ["again" if word == "r" else word for word in words]
    story = " ".join(" ".join(told(again, "--set", "privacy.lifetime_epsilon=30")).split())
    assert "before epsilon 10, counted for whoever is worst off, by earlier runs on these data" in story
    assert "together This ledger knows 1 earlier release to this provider" in story
    assert "ledger new" not in story


def test_status_lists_runs_and_how_an_unfinished_one_goes_on(words, server):
    told(words)
    server.instead.append(online.said(400, {"error": "no"}))
    again = ["two" if word == "r" else word for word in words]
    more = ["--set", "privacy.lifetime_epsilon=30", "--set", "provider.patience=0"]
    assert CliRunner().invoke(cli.app, [*map(str, again), *more]).exit_code != 0
    story = " ".join(" ".join(told(["status", "--ledger", "ledger.sqlite"])).split())
    assert story.startswith("finished ")
    assert "r: scratch, epsilon 10, 20" in story


def test_the_audit_of_it_is_four_lines(words):
    told(words)
    lines = told(["audit", "r"])
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [
        *("sent", "privacy", "holds", "unchecked", "more")
    ]
    assert "yes: 11 claims were made again from the record and agree" in lines[2]
    assert "claim" in " ".join(told(["audit", "r", "--verbose"]))


@pytest.mark.parametrize(
    ("voted", "said"), [(False, "(by cnn on data kept aside; chance is 50 %)"), (True, "which flatters")]
)
def test_accuracies_are_those_of_a_judge_that_did_not_vote_if_there_is_one(voted, said):
    row = {"judge": "cnn", "voted": voted, "initial": {"mean": 0.3}, "final": {"mean": 0.834}}
    voter = {"judge": "own", "voted": True, "initial": {"mean": 0.9}, "final": {"mean": 0.99}}
    summary = {
        **{
            "marks": [],
            "dataset": "r/release",
            "images_released": 4,
            "classes": 2,
            "requests": 1,
            "bytes_sent": 1,
        },
        **{
            "bytes_received": 2_500_000,
            "epsilon_spent": 1.0,
            "epsilon_budget": 2.0,
            "delta": 0.0,
            "report": "r/p",
        },
        **{"relation": "replace-one", "method": "random", "accuracy": [row, voter]},
    }
    lines = [" ".join(line) for line in after(summary)]
    assert "accuracy words alone 30 %, this dataset 83 %" in lines
    assert any(said in line for line in lines)
    assert "sent 1 request, 1 B; 2.5 MB came back" in lines


def test_a_doctor_names_what_is_missing_and_what_brings_it(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    asked = ["doctor", "--dialect", "a1111", "--model", "v1-5"]
    well = CliRunner().invoke(cli.app, [*asked, "--api", server.address, "--set", "privacy.ledger=l.sqlite"])
    assert (well.exit_code, "TO MEND" in well.output) == (0, False), well.output
    ill = CliRunner().invoke(cli.app, [*asked, "--api", "http://127.0.0.1:9", "--encoder", "eyes"])
    said = " ".join(ill.output.split())
    assert ill.exit_code == 1
    assert "encoder TO MEND: no encoder 'eyes'" in said
    assert "connection refused or no such host: start one with pcevolve-server serve" in said
    assert not list(Path().iterdir())
