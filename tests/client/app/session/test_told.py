"""News from a run to its owner, time and padding; who judges it; and what is promised of listed secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pcevolve
from pcevolve.app.cli.summary import summarise
from pcevolve.keeper.finished.comparison import list_facts, read_runs
from pcevolve.public.pages.live import Standing, render_live
from pcevolve.public.parts import Secrecy
from pcevolve.public.plan import PublicPlan
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.transcript.reader import RunReader
from support.paid import make_paid_run
from support.runs import small_plan

WORDS = "guessed with at most 0.001 where it was 0.0001, in at most 3 texts each"


def plan(**changes: object) -> PublicPlan:
    promise = Secrecy(prior=1e-4, bound=1e-3, most=3)
    own = {"method": "secpe", "pool": "all", "keep": "selected", "secrecy": promise, "cells": 2}
    return small_plan(delta=1e-5, **{**own, **changes})


def test_what_is_promised_of_secrets_is_told_in_summary_result_and_comparison(tmp_path: Path):
    root = make_paid_run(tmp_path / "run", plan())
    summary = json.loads(RunFolder(root).summary.read_text())
    assert summary["listed_secrets"] == {"prior": 1e-4, "bound": 1e-3, "most": 3}
    told = {**summary, "dataset": str(root / "release"), "report": "r"}
    assert ("secrets", WORDS) in [*summarise(told)]
    (one,) = read_runs([root])
    assert list_facts(one)["ε"].endswith(f"; listed secrets {WORDS}")


def test_where_the_noise_came_from_a_seed_nothing_is_promised_of_secrets(tmp_path: Path):
    root = make_paid_run(tmp_path / "run", plan(noise="INSECURE-seeded"))
    assert "listed_secrets" not in json.loads(RunFolder(root).summary.read_text())
    assert WORDS not in render_live(RunReader.lenient(root), Standing()).decode()
    assert WORDS not in pcevolve.load(root)._repr_html_() + repr(pcevolve.load(root))
