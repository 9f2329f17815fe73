"""A run that goes on keeps what an earlier version began with."""

from __future__ import annotations

from pathlib import Path

from pcevolve.run.planning import as_it_began
from pcevolve.run.settings import RunSettings
from support.runs import small_plan

SAID = {"private": "private", "out": "run", "domain": "leather texture", "method": "t2i"}
BEGAN = small_plan(method="t2i", iterations=0, strengths=(), at_once=4, prompts=(("a", "b"), ("c", "d")))
NOW = small_plan(method="t2i", iterations=0, strengths=(), prompts=(("x", "y", "z"), ("u", "v", "w")))


def test_a_run_that_goes_on_keeps_the_prompts_and_the_pace_that_it_began_with():
    now = NOW.model_copy(update={"unseen": True, "keeps_contrast": True})  # earlier versions did not say so
    assert as_it_began(BEGAN, now, RunSettings.of(SAID)) == BEGAN


def test_what_the_user_says_is_not_passed_over(tmp_path: Path):
    said = RunSettings.of({**SAID, "at_once": 2, "prompts": str(tmp_path / "p.json")})
    assert as_it_began(BEGAN, NOW, said) == NOW


def test_a_run_that_begins_has_nothing_to_keep():
    assert as_it_began(None, NOW, RunSettings.of(SAID)) == NOW


def test_a_librarys_licence_stays_what_it_began_as():
    begun, now = NOW.model_copy(update={"licence": "unknown"}), NOW.model_copy(update={"licence": "other"})
    assert as_it_began(begun, now, RunSettings.of(SAID)) == begun
    assert as_it_began(begun, now, RunSettings.of({**SAID, "licence": "other"})) == now
