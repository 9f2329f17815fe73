"""What a run tells its owner: time, judges, and what is promised of listed secrets."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import pcevolve
from pcevolve.pages.live import Standing, rendered_live
from pcevolve.public.parts import Secrecy
from pcevolve.public.plan import PublicPlan
from pcevolve.session import images
from pcevolve.session.finished import judging
from pcevolve.session.finished.comparison import compared, facts
from pcevolve.session.finished.judging import quick_judges
from pcevolve.session.folder import RunFolder
from pcevolve.session.progress import Audience, RunProgress, padding_kept, summary_table
from pcevolve.transcript import RunReader
from support.paid import paid_run
from support.runs import small_plan


class Clock:
    """Seconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.now = 5000.0

    def __call__(self) -> float:
        return self.now


def watched(
    recorded: int, terminal: bool, **plan: object
) -> tuple[RunProgress, list, Clock, io.StringIO, list]:
    """Progress of a small run of which the first calls are on record; its calls, its clock, and what is told."""
    made, clock, told, screen = small_plan(**plan), Clock(), [], io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=200, soft_wrap=True)
    calls = list(made.calls.values())
    known = {call.slot for call in calls[:recorded]}
    progress = RunProgress(made, "random", Audience(console, told.append), lambda: "", known, clock)
    return progress, calls, clock, screen, told


@pytest.mark.parametrize(
    "plan", [{}, {"dialect": "chat", "modality": {"kind": "text", "tokens": 9, "temperature": 1}}]
)
def test_what_was_on_record_before_says_nothing_about_the_time_that_is_left(plan: dict[str, object]):
    progress, calls, clock, screen, told = watched(recorded=6, terminal=False, **plan)
    total, replayed = sum(call.count for call in calls), sum(call.count for call in calls[:6])
    for call in calls[:6]:
        clock.now += 2.0  # what is on record has to be read, and private data are looked at again
        progress.generated(call)
        assert (told[-1].seconds_per_image, told[-1].left) == (None, "")
    clock.now += 100.0 * calls[6].count
    progress.generated(calls[6])
    assert told[-1].images == replayed + calls[6].count
    assert told[-1].seconds_per_image == 100.0
    rest = total - told[-1].images
    assert told[-1].left == f"about {round(rest * 100 / 60)} min"
    kind = "texts" if plan else "images"
    assert f"{told[-1].images}/{total} {kind}, about {round(rest * 100 / 60)} min left" in screen.getvalue()


@pytest.mark.parametrize(
    ("longest", "warned"), [(4.95, False), (5.0, False), (5.05, True), (9.9, True), (11.0, True)]
)
def test_the_owner_is_warned_as_soon_as_private_work_takes_more_than_its_tick(longest, warned):
    said = padding_kept(longest, 5.0)
    assert said.startswith("WARNING") is warned
    assert ("the provider saw that it was more" in said) is warned


SUMMARY = {
    "method": "dp-means",
    "iterations": 1,
    "epsilon_spent": 10.0,
    "epsilon_budget": 10.0,
    "delta": 1e-5,
    "relation": "replace-one",
    "images_released": 80,
    "classes": 2,
    "requests": 20,
    "bytes_sent": 1,
    "bytes_received": 1,
    "marks": [],
}


class Named:
    """An encoder of some name; nothing is embedded."""

    dimension = 1

    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, images):
        return np.zeros((len(images), 1))


def told(*rows: dict) -> list[str]:
    """The lines of a summary about accuracy, as a wide screen shows them."""
    console = Console(width=400, record=True, quiet=False)
    with console.capture() as shown:
        console.print(summary_table({**SUMMARY, "accuracy": rows}))
    return [" ".join(line.split()) for line in shown.get().splitlines() if "accuracy" in line]


@pytest.mark.parametrize(
    ("voter", "fetched", "expected"),
    [
        ("bundled", (), [("cnn", False), ("bundled", True)]),
        ("bundled+spectrum", (), [("cnn", False), ("bundled+spectrum", True)]),
        ("bundled", ("resnet18",), [("cnn", False), ("resnet18", False), ("bundled", True)]),
        ("clip", ("clip", "resnet18"), [("cnn", False), ("resnet18", False), ("clip", True)]),
        ("clip", ("clip",), [("cnn", False), ("bundled", False), ("clip", True)]),
    ],
)
def test_the_voter_is_never_alone_and_never_first(voter, fetched, expected, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(images, "is_fetched", fetched.__contains__)
    monkeypatch.setattr(judging, "load_encoder", lambda name, *_: Named(name))
    found = quick_judges(Named(voter), voted=True, device="cpu")
    assert [(each.name, each.voted) for each in found] == expected


def test_nobody_voted_in_a_run_that_looked_at_nothing():
    assert not any(each.voted for each in quick_judges(Named("bundled"), voted=False, device="cpu"))


PROMISE = Secrecy(prior=1e-4, bound=1e-3, most=3)
WORDS = "guessed with at most 0.001 where it was 0.0001, in at most 3 texts each"


def plan(**changes: object) -> PublicPlan:
    own = {"method": "secpe", "pool": "all", "keep": "selected", "secrecy": PROMISE, "cells": 2}
    return small_plan(delta=1e-5, **{**own, **changes})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return paid_run(tmp_path_factory.mktemp("listed") / "run", plan())


def test_in_the_result_on_the_console(run: Path):
    said = io.StringIO()
    Console(file=said, width=300).print(summary_table(json.loads(RunFolder(run).summary.read_text())))
    assert f"listed secrets {WORDS}" in " ".join(said.getvalue().split())


def test_in_summary_json_and_in_a_comparison(run: Path):
    summary = json.loads(RunFolder(run).summary.read_text())
    assert summary["listed_secrets"] == {"prior": 1e-4, "bound": 1e-3, "most": 3}
    (one,) = compared([run])
    assert facts(one)["ε"].endswith(f"; listed secrets {WORDS}")


def test_where_the_noise_came_from_a_seed_nothing_is_promised_of_secrets(tmp_path: Path):
    root = paid_run(tmp_path / "run", plan(noise="INSECURE-seeded"))
    assert "listed_secrets" not in json.loads(RunFolder(root).summary.read_text())
    assert WORDS not in rendered_live(RunReader.lenient(root), Standing()).decode()
    assert WORDS not in pcevolve.load(root)._repr_html_() + repr(pcevolve.load(root))


FIGURE = {"mean": 0.614, "sem": 0.012, "seeds": [0.6, 0.61, 0.632]}


def test_each_judge_has_a_line_and_one_that_voted_says_so():
    sets = {"initial": FIGURE, "final": FIGURE, "random": FIGURE}
    lines = told({"judge": "cnn", "voted": False, **sets}, {"judge": "bundled", "voted": True, **sets})
    figures = "initial 61.4% ± 1.2%, final 61.4% ± 1.2%, random 61.4% ± 1.2%"
    assert lines == [
        f"accuracy, cnn {figures} (s.e. over 3 seeds of the head)",
        f"accuracy, bundled (voted) {figures} (s.e. over 3 seeds of the head; it saw the candidates when the run "
        "selected, which flatters)",
    ]


def test_of_texts_the_words_and_pairs_of_words_judge_first():
    found = quick_judges(Named("words"), voted=True, device="cpu", kind="text")
    assert [(each.name, each.voted) for each in found] == [("ngrams", False), ("words", True)]


def test_the_warning_names_a_tick_that_is_half_as_long_again():
    assert "--set privacy.pad_selection=9 next time" in padding_kept(6.0, 5.0)
