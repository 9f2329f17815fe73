"""Wherever a run says its ε, it says beside it what is promised of listed secrets."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

import pcevolve
from pcevolve.pages.live import Standing, rendered_live
from pcevolve.public.plan import PublicPlan
from pcevolve.public.secrecy import Secrecy
from pcevolve.session.finished.comparison import compared, facts
from pcevolve.session.folder import RunFolder
from pcevolve.session.progress import summary_table
from pcevolve.transcript import RunReader
from support.paid import paid_run
from support.runs import small_plan

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
    assert facts(one.summary)["ε"].endswith(f"; listed secrets {WORDS}")


def test_on_the_dashboard_and_in_a_notebook(run: Path):
    assert WORDS in rendered_live(RunReader.lenient(run), Standing()).decode()
    result = pcevolve.load(run)
    assert f"Listed secrets: {WORDS}" in result._repr_html_()
    assert f"listed secrets {WORDS}" in repr(result)


def test_where_the_noise_came_from_a_seed_nothing_is_promised_of_secrets(tmp_path: Path):
    root = paid_run(tmp_path / "run", plan(noise="INSECURE-seeded"))
    assert "listed_secrets" not in json.loads(RunFolder(root).summary.read_text())
    assert WORDS not in rendered_live(RunReader.lenient(root), Standing()).decode()
    assert WORDS not in pcevolve.load(root)._repr_html_() + repr(pcevolve.load(root))
