"""Settings of images and of texts, which do not mix."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from pcevolve.public.modality import Texts
from pcevolve.public.plan import PublicPlan
from support.runs import small_plan

TEXTS = {"modality": {"kind": "text", "tokens": 40, "temperature": 1.0}}


def of_texts(**changes: object) -> PublicPlan:
    return PublicPlan.model_validate({**json.loads(small_plan().model_dump_json()), **TEXTS, **changes})


def test_a_plan_for_texts_has_their_settings_and_none_of_images():
    plan = of_texts()
    assert plan.texts == Texts(kind="text", tokens=40, temperature=1.0)
    assert json.loads(plan.model_dump_json())["modality"] == {**TEXTS["modality"], "fields": []}
    with pytest.raises(TypeError, match="no settings of images"):
        _ = plan.images
    with pytest.raises(TypeError, match="no settings of texts"):
        _ = small_plan().texts


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 16},
        {"steps": 4},
        {"appearance": "matched"},
        {"modality": {"kind": "sound"}},
        {"modality": {"kind": "text", "tokens": 0, "temperature": 1.0}},
        {"modality": {"kind": "text", "tokens": 5, "temperature": 1.0, "width": 16}},
    ],
)
def test_settings_of_both_do_not_mix(changes):
    with pytest.raises(ValidationError):
        of_texts(**changes)


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ("standard", ()),
        ("single", ("n=",)),
        ("plain", ("n=", "seed=")),
        ("seed=random_seed,n=", ("seed=random_seed", "n=")),
    ],
)
def test_a_family_is_a_name_for_rules_and_rules_can_be_given(given: str, rules: tuple[str, ...]):
    assert Texts(kind="text", tokens=4, temperature=1, fields=given).fields == rules


@pytest.mark.parametrize("rule", ["model=x", "seed=messages", "seed=model", "n", "n=N;", "prompt="])
def test_no_rule_touches_what_is_said_or_which_model_says_it(rule: str):
    with pytest.raises(ValueError, match=r"(?s)fields.*(NAME= leaves a field out|each field has one rule)"):
        Texts(kind="text", tokens=4, temperature=1, fields=(rule,))


@pytest.mark.parametrize("fields", [(), ("temperature=",)])
def test_a_plan_says_of_the_temperature_whether_it_is_sent(fields: tuple[str, ...]):
    with pytest.raises(ValueError, match="temperature: it is said of a request"):
        Texts(kind="text", tokens=4, temperature=1.0 if fields else None, fields=fields)
