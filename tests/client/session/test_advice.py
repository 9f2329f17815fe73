"""What an API recommends is used, unless the user says otherwise; whatever it says stays within bounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.providers import dialect
from pcevolve.providers.dialect import Advice, ModelSize
from pcevolve.public.plan import PublicPlan
from pcevolve.session.components import Components
from pcevolve.session.planning import resolved_plan
from pcevolve.session.preflight import checked
from pcevolve.session.settings import RunSettings
from support.provider import png

TURBO = Advice(steps=4, guidance=0.0, low=0.5, high=0.55)


@pytest.fixture
def planned(tmp_path: Path):
    for seed, label in enumerate(("cut", "good")):
        (tmp_path / "private" / label).mkdir(parents=True)
        (tmp_path / "private" / label / "a.png").write_bytes(png(seed))
    fixed = {
        "private": tmp_path / "private", "domain": "scratch", "out": tmp_path / "run", "shots": 1,
        "method": "pe", "delta": 1e-5, "iterations": 3, "ledger": tmp_path / "ledger.sqlite",
    }  # fmt: skip

    def plan(advice: Advice | None, **options: object) -> PublicPlan:
        wanted = {name: str(value) for name, value in {**fixed, **options}.items()}
        components = Components.of(checked(RunSettings.of(wanted)))
        return resolved_plan(components, "0" * 32, ModelSize(64, 64), advice=advice)

    return plan


def test_what_the_api_recommends_is_used(planned):
    plan = planned(TURBO)
    assert (plan.images.steps, plan.images.guidance) == (4, 0.0)
    assert all(TURBO.low <= strength <= TURBO.high for strength in plan.strengths)


def test_where_it_recommends_nothing_the_usual_is(planned):
    plan = planned(None)
    assert (plan.images.steps, plan.images.guidance) == (50, 7.5)


def test_what_the_user_says_comes_before_it(planned):
    plan = planned(TURBO, steps=9, guidance=0, strength_start=0.9, strength_end=0.1)
    assert (plan.images.steps, plan.images.guidance) == (9, 0.0)
    assert (plan.strengths[0], plan.strengths[-1]) == (0.9, 0.1)
    assert planned(Advice(4, 8.0, 0.1, 0.9), guidance=0).images.guidance == 0.0


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("getimg", (4, 0.0, True)),
        ("stability", (None, 0.0, False)),
        ("openai-plain", (None, None, True)),
    ],
)
def test_a_plan_names_nothing_that_its_dialect_does_not_send(planned, name: str, asked: tuple):
    images = planned(TURBO, dialect=name, vary_by="prompt").images
    assert (images.steps, images.guidance, images.sized) == asked


def test_a_guidance_that_a_dialect_does_not_send_is_refused(planned):
    with pytest.raises(UsageError, match="dialect 'openai-plain' lacks guidance"):
        planned(None, dialect="openai-plain", vary_by="prompt", guidance=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "t2i"}, "--vary-by prompt needs rounds"),
        ({"strength_start": 0.5}, "--strength-start is about images that are varied"),
        ({"adapter": "ip"}, "--adapter is about images that are varied"),
        ({"candidates": 1, "prototypes": 1}, "two at least"),
    ],
)
def test_what_means_nothing_where_prompts_are_varied_is_refused(planned, options, message):
    with pytest.raises(UsageError, match=message):
        planned(TURBO, vary_by="prompt", **options)


def test_where_prompts_are_varied_and_nobody_gives_any_they_are_the_grammars(planned):
    plan = planned(TURBO, vary_by="prompt", candidates=30)
    assert (plan.wordings, plan.strengths) == (10, ())


def _told(**recommended: object) -> bytes:
    model = {"id": "m", "base_resolution": {"width": 64, "height": 64}}
    return json.dumps([{**model, **({"recommended": recommended} if recommended else {})}]).encode()


def test_it_is_read_from_the_list_of_models():
    spoken = dialect("getimg")
    body = _told(steps=4, guidance=0.0, strength_low=0.5, strength_high=0.9)
    assert spoken.advice("m", body) == Advice(4, 0.0, 0.5, 0.9)
    assert spoken.advice("m", _told()) is None
    assert dialect("a1111").advice("m", body) is None


def test_strengths_in_the_wrong_order_are_put_into_the_right_one():
    body = _told(steps=4, guidance=0.0, strength_low=0.9, strength_high=0.5)
    assert dialect("getimg").advice("m", body) == Advice(4, 0.0, 0.5, 0.9)


@pytest.mark.parametrize(
    "wrong", [{"steps": 10**6}, {"guidance": -1.0}, {"strength_low": 2.0}, {"steps": "many"}]
)
def test_advice_out_of_bounds_breaks_the_contract(wrong):
    honest = {"steps": 4, "guidance": 0.0, "strength_low": 0.5, "strength_high": 0.9}
    with pytest.raises(ProviderReplyError):
        dialect("getimg").advice("m", _told(**{**honest, **wrong}))
