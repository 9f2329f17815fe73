"""A run that goes on keeps what it had settled where its user said nothing."""

from __future__ import annotations

from pathlib import Path

from pcevolve.session.planning import as_recorded
from pcevolve.session.settings import RunSettings
from support.runs import small_plan

SAID = {"private": "private", "out": "run", "domain": "leather texture", "method": "t2i"}
BEGAN = small_plan(method="t2i", iterations=0, strengths=(), at_once=4, prompts=(("a", "b"), ("c", "d")))
NOW = small_plan(method="t2i", iterations=0, strengths=(), prompts=(("x", "y", "z"), ("u", "v", "w")))


def test_a_run_that_goes_on_keeps_prompts_pace_and_licence_that_it_began_with():
    assert as_recorded(BEGAN, NOW.model_copy(update={"licence": "other"}), RunSettings.of(SAID)) == BEGAN


def test_what_the_user_says_is_not_passed_over(tmp_path: Path):
    said = RunSettings.of({**SAID, "at_once": 2, "prompts": str(tmp_path / "p.json"), "licence": "other"})
    now = NOW.model_copy(update={"licence": "other"})
    assert as_recorded(BEGAN, now, said) == now


def test_a_run_that_begins_has_nothing_to_keep():
    assert as_recorded(None, NOW, RunSettings.of(SAID)) == NOW
