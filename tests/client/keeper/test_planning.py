"""From options to a public plan: what the API recommends, prompts from a file or the grammar, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcevolve.app.session.preflight import check_run
from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.keeper.components import Components
from pcevolve.keeper.planning import keep_recorded, resolve_plan
from pcevolve.public.config.config import RunConfig
from pcevolve.public.modality import Advice, ModelSize
from pcevolve.public.plan import PublicPlan
from pcevolve.public.protocol import Settle
from pcevolve.wire.providers import dialect
from support.comfyui import NODES, WORKFLOW
from support.folders import class_folders
from support.runs import replace_settings, small_plan

SAID = {"private": "private", "out": "run", "domain": "leather texture", "method": "t2i"}
BEGAN = small_plan(method="t2i", iterations=0, strengths=(), at_once=4, prompts=(("a", "b"), ("c", "d")))
NOW = small_plan(method="t2i", iterations=0, strengths=(), prompts=(("x", "y", "z"), ("u", "v", "w")))


def test_a_run_that_goes_on_keeps_prompts_pace_and_licence_that_it_began_with():
    assert keep_recorded(BEGAN, replace_settings(NOW, {"licence": "other"}), RunConfig.of(SAID)) == BEGAN


def test_what_the_user_says_is_not_passed_over(tmp_path: Path):
    said = RunConfig.of({**SAID, "at_once": 2, "prompts": str(tmp_path / "p.json"), "licence": "other"})
    now = replace_settings(NOW, {"licence": "other"})
    assert keep_recorded(BEGAN, now, said) == now


TURBO = Advice(steps=4, guidance=0.0, low=0.5, high=0.55)


@pytest.fixture
def planned(tmp_path: Path):
    fixed = {
        "private": class_folders(tmp_path / "private", 1, ("cut", "good"), 1), "domain": "scratch", "shots": 1,
        "method": "pe", "delta": 1e-5, "iterations": 3, "out": tmp_path / "run",
        "ledger": tmp_path / "ledger" / "ledger.sqlite",
    }  # fmt: skip

    def plan(advice: Advice | None, **options: object) -> PublicPlan:
        wanted = {name: str(value) for name, value in {**fixed, **options}.items() if value is not None}
        components = Components.of(check_run(RunConfig.of(wanted)))
        return resolve_plan(components, "0" * 32, Settle(size=ModelSize(64, 64), advice=advice))

    return plan


@pytest.mark.parametrize(
    ("api", "batch", "images"),
    [
        *((f"http://127.0.0.1:{batch}", batch, images) for batch, images in ((30, 60), (4, 16), (64, 64))),
        ("https://api.example", 30, 4),
    ],
)
def test_an_api_nearby_has_two_requests_to_work_on_up_to_64_images_and_one_elsewhere_four_images(
    planned, api, batch, images
):
    assert planned(None, api=api, batch=batch).provider.at_once == images


def test_what_the_user_says_comes_before_it(planned):
    plan = planned(TURBO, steps=9, guidance=0, strength_start=0.9, strength_end=0.1)
    assert (plan.images.steps, plan.images.guidance) == (9, 0.0)
    assert (plan.method.strengths[0], plan.method.strengths[-1]) == (0.9, 0.1)
    assert planned(Advice(4, 8.0, 0.1, 0.9), guidance=0).images.guidance == 0.0


@pytest.mark.parametrize(
    ("name", "asked"),
    [("getimg", (4, 0.0, True)), ("stability", (None, 0.0, False)), ("openai-plain", (None, None, True))],
)
def test_a_plan_names_nothing_that_its_dialect_does_not_send(planned, name: str, asked: tuple):
    images = planned(TURBO, dialect=name, vary_by="prompt").images
    assert (images.steps, images.guidance, images.sized) == asked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "t2i"}, "method.vary_by=prompt needs rounds"),
        ({"strength_start": 0.5}, "method.strength_start concerns images that are varied"),
        ({"adapter": "ip"}, "provider.adapter concerns images that are varied"),
        ({"candidates": 1, "prototypes": 1}, "two at least"),
    ],
)
def test_what_means_nothing_where_prompts_are_varied_is_refused(planned, options, message):
    with pytest.raises(UsageError, match=message):
        planned(TURBO, vary_by="prompt", **options)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"method": "t2i"}, "--iterations"),
        ({"method": "t2i", "iterations": None, "strength_start": 0.5}, "method.strength_start"),
        ({"method": "t2i", "iterations": None, "prototypes": 1}, "method.prototypes"),
        ({"method": "random", "unit_size": 2}, "data.unit_size"),
        ({"method": "random", "forget_insecure": True}, "privacy.forget_insecure"),
        ({"iterations": 1, "pool": "all"}, "method.pool"),
        ({"iterations": 1, "threshold": 1.0, "threshold_end": 2.0}, "method.threshold_end"),
        ({"vary_with": "template"}, "method.vary_with"),
    ],
)
def test_an_option_that_means_nothing_in_a_plan_is_refused_by_the_name_that_is_typed(planned, options, name):
    with pytest.raises(
        UsageError, match=f"^{name} has no effect in a run of method .* on images: leave it out"
    ):
        planned(None, **options)


def test_a_dialect_that_fills_a_workflow_needs_one_that_can_do_what_the_run_does(planned):
    asked = {"dialect": "comfyui", "batch": 1}
    with pytest.raises(UsageError, match=r"give its file with --set provider\.workflow=FILE"):
        planned(None, **asked)
    still = {**NODES, "3": {**NODES["3"], "_meta": {"title": "seed"}}, "10": {**NODES["10"], "_meta": {}}}
    with pytest.raises(UsageError, match="no node with the title 'image'"):
        planned(None, **asked, model="own", workflow=json.dumps(still))
    with pytest.raises(UsageError, match="give the model's name with --model"):
        planned(None, **asked, workflow=WORKFLOW)
    assert planned(None, **asked, model="own", workflow=WORKFLOW).provider.workflow == WORKFLOW
    with pytest.raises(UsageError, match="dialect 'getimg' lacks workflow"):
        planned(None, workflow=WORKFLOW)


def test_defaults_and_what_equals_them_are_no_wishes(planned):
    assert planned(None, method="t2i", iterations=None, encoder="auto", vary_by="image").method.name == "t2i"


def _announce(**recommended: object) -> bytes:
    model = {"id": "m", "base_resolution": {"width": 64, "height": 64}}
    return json.dumps([{**model, **({"recommended": recommended} if recommended else {})}]).encode()


@pytest.mark.parametrize(
    "wrong", [{"steps": 10**6}, {"guidance": -1.0}, {"strength_low": 2.0}, {"steps": "many"}]
)
def test_advice_out_of_bounds_breaks_the_contract(wrong):
    honest = {"steps": 4, "guidance": 0.0, "strength_low": 0.5, "strength_high": 0.9}
    with pytest.raises(ProviderReplyError):
        dialect("getimg").advice("m", _announce(**{**honest, **wrong}))


@pytest.mark.parametrize("private", ["digits:3,5", "cells", "terms"])
def test_test_data_beside_data_that_come_with_the_client_are_refused_and_not_passed_over(private, tmp_path):
    spoken = {"dialect": "chat"} if private == "terms" else {}
    asked = {"private": private, "domain": "x", "out": tmp_path / "run", "test": tmp_path, **spoken}
    with pytest.raises(UsageError, match=r"--test is only for your own .*: leave this option out"):
        check_run(RunConfig.of(asked))
