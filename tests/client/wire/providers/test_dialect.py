"""Dialects: calls to bytes and back, what a plan says that an API is asked for, and two spellings of our own server."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest

from pcevolve.errors import EgressError
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.wire.egress.policy import Policy
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.dialect import Dialect, find_misstatements
from support.forge import faults_of
from support.provider import png
from support.runs import ADDRESS, small_plan


@pytest.mark.parametrize(
    ("listed", "takes"), [({}, True), ({"strengths": True}, True), ({"strengths": False}, False)]
)
def test_a_model_says_whether_it_takes_a_strength_and_is_asked_for_none_if_not(listed, takes):
    body = json.dumps({"data": [{"id": "m", **listed}]}).encode()
    spoken = dialect("getimg")
    assert spoken.takes_strength("m", body) == takes
    plan = small_plan(graded=takes, **({} if takes else {"strengths": ()}))
    sent = json.loads(spoken.encode(plan, next(plan.round(1)), png(1)).body)
    assert sent.get("strength") == (0.8 if takes else None)
    assert dialect("openai").takes_strength("m", body) == takes
    assert dialect("openai").takes_strength("m", b"no list")
    assert not dialect("openai-plain").takes_strength("m", body)


def test_the_audit_finds_a_plan_that_says_what_its_requests_do_not(world, tmp_path, monkeypatch):
    # as somebody would forge it who writes the record without our gate
    with monkeypatch.context() as without:
        without.setattr("pcevolve.wire.egress.policy.find_misstatements", lambda *of: ())
        world("openai-plain").open(tmp_path, steps=50).finish()
    faults = faults_of(tmp_path)
    assert faults == ["the plan says that steps is asked for, and it is not"]


@pytest.mark.parametrize("name", [*ABILITIES])
def test_the_gate_takes_a_plan_that_varies_only_where_its_dialect_can(name, tmp_path):
    varying, can = small_plan(dialect=name, batch=1), "vary" in ABILITIES[name].capabilities
    assert any(each.purpose == "vary" for each in varying.calls.values())
    fault = f"the plan asks for variations, which dialect {name} cannot request"
    assert [*find_misstatements(dialect(name), varying)] == ([] if can else [fault])
    policy = Policy(dialect(name), ADDRESS, Bodies(tmp_path))
    with nullcontext() if can else pytest.raises(EgressError, match=fault):
        policy.fix(varying, lambda _receipt: True)
    assert not [
        *find_misstatements(dialect(name), small_plan(dialect=name, batch=1, iterations=0, strengths=()))
    ]


@pytest.mark.parametrize("name", [each.name for each in ABILITIES.values() if each.most < 64])
def test_the_gate_takes_a_plan_that_asks_for_no_more_at_once_than_its_dialect_can(name):
    most = ABILITIES[name].most
    few = {"dialect": name, "iterations": 0, "strengths": (), "candidates": 70}
    assert not [*find_misstatements(dialect(name), small_plan(**few, batch=most))]
    fault = f"the plan asks for {most + 1} outputs in one request, but dialect {name} allows {most}"
    assert [*find_misstatements(dialect(name), small_plan(**few, batch=most + 1))] == [fault]


@pytest.mark.parametrize(
    ("name", "links", "costs", "currency"),
    [
        ("getimg", False, True, "USD"),
        ("openai", False, False, None),
        ("openai-plain", False, False, "USD"),
        ("azure", False, False, "USD"),
        ("siliconflow", True, False, None),
        ("stability", False, False, "credits"),
        ("replicate", True, False, "USD"),
        ("comfyui", True, False, None),
        ("huggingface", False, False, "USD"),
        ("a1111", False, True, None),
        ("chat", False, False, None),
    ],
)
def test_what_an_api_tells_and_bills_is_as_documented(name, links, costs, currency):
    spoken = dialect(name)
    assert spoken.name == name
    assert (spoken.links_images, spoken.reports_cost) == (links, costs)
    assert spoken.currency == (currency or Dialect.currency)
    if name != "chat":
        assert (spoken.trial("m"), spoken.takes_several(b"")) == (None, True)
