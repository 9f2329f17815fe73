"""A run on the console: few lines at 80 columns with what has to be known, and everything if asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pcevolve.app.cli import commands as cli
from pcevolve.keeper.ledger.ledger import Ledger
from support import online
from support.accounts import set_cap
from support.provider import png

pytestmark = pytest.mark.system
MOST_LINES = 21


@pytest.fixture
def given(given, tmp_path) -> dict[str, object]:
    """A run with three images of each class."""
    for label in ("cut", "good"):
        for number in (1, 2):
            (tmp_path / "private" / label / f"{number}.png").write_bytes(png(len(label) + 10 * number))
    return given | {"out": "r", "shots": 3, "iterations": 1, "batch": None}


def print_lines(words: list[str]) -> list[str]:
    """The lines of stdout and stderr, at 80 columns."""
    result = CliRunner().invoke(cli.app, words, env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    # A machine under load may take longer than a tick, of which the owner is warned.
    return [line for line in result.output.splitlines() if line.strip() and not line.startswith("WARNING")]


def flat(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def test_a_run_tells_its_story_in_a_screen_and_its_audit_in_four_lines(words):
    lines = print_lines(words())
    assert len(lines) <= MOST_LINES, "\n".join(lines)
    assert max(map(len, lines)) <= 80, [each for each in lines if len(each) > 80]
    story = flat(lines)
    for part in (
        "private 2 classes, 3 images each",
        "They contain prompts and images that the server itself had made, but no private image.",
        "privacy epsilon 10 at delta 0, if one image is exchanged for another: at a 5 % false-positive rate, "
        "membership inference detects at most 100 %",
        "public class names 'cut', 'good'; domain 'scratch'; 3 images per class",
        "ledger new, without earlier runs",
        "confinement not enforced here",
        "dataset r/release (4 images, 2 classes)",
        "epsilon 10 of 10 was spent",
        "verdict not estimated, because method pcevolve releases no figures about how useful the dataset is",
        "next open r/report.html",
        "pcevolve audit r",
    ):
        assert part in story, story
    announced, sent, planned = (
        re.search(rf"{word}\W+(\d+) requests", text)[1]
        for word, text in (("sends", story), ("sent", story), ("sends", flat(print_lines(["plan", "r"]))))
    )
    assert announced == sent == planned, "one number of requests everywhere"
    lines = print_lines(["audit", "r"])
    titles = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert titles == ["sent", "privacy", "holds", "not", "more"]
    assert "yes: all 10 claims, recomputed from the record, are true" in lines[2]
    assert "claim" in flat(print_lines(["audit", "r", "--verbose"]))


def test_every_fact_is_told_to_whoever_asks(words):
    story = flat(print_lines(words("--verbose")))
    for part in (
        *("Before anything is spent", "selection lift", "assumed public", "; the whole run: ", "bytes sent"),
        "the time of private work between two requests is padded to multiples of 0.01 s",
    ):
        assert part in story


def test_a_second_run_is_told_of_the_first_and_status_of_both(words, server):
    print_lines(words())
    set_cap(Path("ledger/ledger.sqlite"), 30)
    story = flat(print_lines(words(out="once more")))
    assert (
        "next open 'once more/report.html' pcevolve audit 'once more' (checks what was sent, and why)"
        in story
    )
    assert "before epsilon 10, for the most exposed unit, by other runs on these data" in story
    assert "together Before this run, the ledger listed 1 earlier run" in story
    assert "ledger new" not in story
    story = flat(print_lines(["status", "--ledger", "ledger/ledger.sqlite"]))
    assert story.startswith("finished ")
    assert "r: scratch, epsilon 10, 20" in story
    rows = json.loads("".join(print_lines(["status", "--json", "--ledger", "ledger/ledger.sqlite"])))
    assert [(row["state"], row["domain"]) for row in rows] == [("finished", "scratch")] * 2


def test_a_plan_shows_what_is_public_of_a_run_finished_or_not_and_status_how_it_goes_on(words, request):
    print_lines(words())
    finished = flat(print_lines(["plan", "r"]))
    request.getfixturevalue("broken_img2img")
    set_cap(Path("ledger/ledger.sqlite"), 30)
    assert CliRunner().invoke(cli.app, words(out="cut-off")).exit_code != 0
    for page in (finished, flat(print_lines(["plan", "cut-off"]))):
        for part in ("prompts, cut", "A scratch image with cut", "epsilon 10", "candidates per class"):
            assert part in page
    assert max(map(len, print_lines(["plan", "r"]))) <= 80
    story = flat(print_lines(["status", "--ledger", "ledger/ledger.sqlite"]))
    assert " unfinished " in story
    assert story.endswith(f"to continue: pcevolve run --resume {Path('cut-off').absolute()}")


@pytest.mark.parametrize("command", [["status"], ["budget", "show"]])
def test_a_ledger_without_a_run_says_so(command, tmp_path):
    Ledger(tmp_path / "ledger" / "ledger.sqlite").close()
    story = print_lines([*command, "--ledger", str(tmp_path / "ledger" / "ledger.sqlite")])
    assert flat(story) == "no run has used this ledger yet (pcevolve demo uses a separate ledger)"


def test_a_doctor_names_what_is_missing_and_what_brings_it(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PCEVOLVE_API_KEY", online.LOGIN)
    asked = ["doctor", "--dialect", "a1111", "--model", "v1-5"]
    well = CliRunner().invoke(
        cli.app, [*asked, "--api", server.address, "--set", "privacy.ledger=own/l.sqlite"]
    )
    assert (well.exit_code, "TO FIX" in well.output) == (0, False), well.output
    ill = CliRunner().invoke(cli.app, [*asked, "--api", "http://127.0.0.1:9", "--encoder", "eyes"])
    said = " ".join(ill.output.split())
    assert ill.exit_code == 1
    assert "encoder TO FIX: no encoder 'eyes'" in said
    assert "connection refused or no such host: start a server with pcevolve-server serve" in said
    assert not list(Path().iterdir())
    Path("file").touch()
    for ledger in ("file/l.sqlite", "l.sqlite"):
        shown = CliRunner().invoke(cli.app, [*asked, "--set", f"privacy.ledger={ledger}"])
        monkeypatch.setattr("os.access", lambda path, mode: False)
        assert "is not writable: give --set privacy.ledger=FILE" in " ".join(shown.output.split())


def test_a_doctor_loads_the_encoder_and_greets_nobody_where_a_run_would_not(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    asked = ["doctor", "--api", server.address, "--set", "provider.greeting=false"]
    for encoder in (["clip"], ["bundled", "--set", "encoder.weights=/nope"]):
        said = " ".join(CliRunner().invoke(cli.app, [*asked, "--encoder", *encoder]).output.split())
        assert "encoder TO FIX: " in said
        assert "was not contacted, because provider.greeting is false" in said
    assert server.heard == []
