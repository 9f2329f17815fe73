"""Replicate's dialect: what a job is submitted with, how it is asked after and ended, and what is believed of it."""

from __future__ import annotations

import json

import pytest

from pcevolve.errors import ProviderReplyError
from pcevolve.wire.providers import dialect
from support.online import b64
from support.provider import png
from support.runs import small_plan

SPOKEN = dialect("replicate")
PLAN = small_plan(dialect="replicate", model="lab/painter:5c7d5dc6", negative_prompt="text")
CALL = next(iter(PLAN.round(0)))


def told(status: str, name: str = "abc", **more: object) -> bytes:
    return json.dumps(
        {"id": name, "status": status, "urls": {"get": "https://evil.example"}, **more}
    ).encode()


def test_a_version_or_a_models_own_address_is_asked_with_all_that_the_plan_says():
    asked = SPOKEN.encode(PLAN, CALL, None)
    assert (asked.method, asked.path) == ("POST", "/v1/predictions")
    assert json.loads(asked.body) == {
        "version": "5c7d5dc6",
        "input": {
            "prompt": PLAN.prompt_of(CALL),
            "num_outputs": 2,
            "seed": CALL.seed,
            "num_inference_steps": 50,
            "guidance_scale": 7.5,
            "width": 16,
            "height": 16,
            "negative_prompt": "text",
        },
    }
    official = small_plan(dialect="replicate", model="lab/paint er?")
    asked = SPOKEN.encode(official, CALL, None)
    assert asked.path == "/v1/models/lab/paint%20er%3F/predictions"
    assert set(json.loads(asked.body)) == {"input"}
    assert "negative_prompt" not in json.loads(asked.body)["input"]


def test_an_image_goes_in_as_a_data_url_with_the_strength():
    varied = json.loads(SPOKEN.encode(PLAN, next(iter(PLAN.round(1))), png(1)).body)["input"]
    assert varied["image"] == f"data:image/png;base64,{b64(1)}"
    assert varied["prompt_strength"] == 0.8


def test_a_job_is_asked_after_at_the_apis_own_address_until_it_is_over():
    asked = SPOKEN.follow_up(PLAN, CALL, [told("starting"), told("processing")])
    assert (asked.method, asked.path, asked.body) == ("GET", "/v1/predictions/abc", b"")
    assert SPOKEN.follow_up(PLAN, CALL, [told("starting"), told("succeeded")]) is None
    assert SPOKEN.follow_up(PLAN, CALL, [told("succeeded")]) is None
    for status in ("failed", "canceled", "aborted"):
        with pytest.raises(ProviderReplyError, match=f"reports the status '{status}' for a job: no memory"):
            SPOKEN.follow_up(PLAN, CALL, [told("starting"), told(status, error="no memory")])
    with pytest.raises(ProviderReplyError, match="about a different job"):
        SPOKEN.follow_up(PLAN, CALL, [told("starting"), told("succeeded", "abd")])
    for name in ("", "a/b", "a\n", "é", "a" * 65, "..", "%2e"):
        with pytest.raises(ProviderReplyError, match="breaks the contract at id"):
            SPOKEN.follow_up(PLAN, CALL, [told("starting", name)])


@pytest.mark.parametrize(
    ("answers", "ends"),
    [
        ([told("starting")], True),
        ([told("starting"), told("processing")], True),
        ([told("starting"), b"<html>"], True),
        ([told("starting"), told("succeeded", "abd")], True),
        ([told("starting"), told("succeeded")], False),
        ([told("failed")], False),
        ([b"<html>"], False),
        ([told("starting", "../..")], False),
    ],
)
def test_a_job_is_ended_where_it_may_go_on(answers, ends):
    asked = SPOKEN.cancel(answers)
    assert [(each.method, each.path, each.body) for each in asked] == (
        [("POST", "/v1/predictions/abc/cancel", b"{}")] if ends else []
    )


def test_the_output_is_a_link_or_a_list_of_them():
    assert SPOKEN.links(CALL, told("succeeded", output="https://a.example/1")) == ("https://a.example/1",)
    several = told("succeeded", output=["https://a.example/1", "https://a.example/2", "https://a.example/3"])
    assert SPOKEN.links(CALL, several) == ("https://a.example/1", "https://a.example/2")
    assert SPOKEN.links(CALL, told("succeeded")) == ()
    assert SPOKEN.decode(CALL, several, [b"1", b"2"]) == [b"1", b"2"]
    assert (SPOKEN.hello().method, SPOKEN.hello().path) == ("GET", "/v1/account")
