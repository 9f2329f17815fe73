"""Errors as APIs word them: what is said, why asking again would not help, and whether it may pass.

Shapes are those of public documents: OpenAI "Error codes" (platform.openai.com/docs/guides/error-codes), OpenRouter
"Errors" (openrouter.ai/docs/api-reference/errors), SiliconFlow "Error codes" (docs.siliconflow.cn), FastAPI "Handling
Errors" (fastapi.tiangolo.com/tutorial/handling-errors), Together AI "Error codes" (docs.together.ai/docs/error-codes),
RFC 9110 (statuses), and the pages that nginx and Cloudflare answer with.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pcevolve.egress.exchange import HINTS
from pcevolve.providers import DIALECTS
from pcevolve.providers.faults import FINAL, PASSING, fault
from pcevolve.public.answers import succeeded
from support.answers import ANSWERS, Scripted

NGINX = b"<html>\n<head><title>502 Bad Gateway</title></head>\n<body><h1>502 Bad Gateway</h1></body></html>"
CLOUDFLARE = b"<!DOCTYPE html><title>Origin DNS error | x.example | Cloudflare</title>"
SCHEMA = {"detail": [{"type": "missing", "loc": ["body", "prompt"], "msg": "Field required", "input": {}}]}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def error(message: str, **more: object) -> dict[str, object]:
    """An error as OpenAI and those who follow it word it."""
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("status", "body", "said", "passes", "reason"),
    [
        (500, error("The server had an error"), "The server had an error", True, None),
        (429, error("Slow down", code="rate_limit_exceeded"), "Slow down", True, None),
        (429, error("quota", code="insufficient_quota"), "quota", False, "credit"),
        (502, NGINX, "502 Bad Gateway", True, None),
        (422, SCHEMA, "body.prompt: Field required", False, None),
        (404, {"detail": "Not Found"}, "Not Found", False, None),
        (401, error("Incorrect API key provided"), "Incorrect API key provided", False, "key"),
        (400, error("no", code="moderation_blocked"), "no", False, "content"),
        *((status, b"", "", False, None) for status in (302, 400, 405, 501, 505, 506, 510, 511)),
        *((status, b"", "", True, None) for status in (408, 425, 429, 500, 503, 507, 508, 520, 524, 599)),
        (529, OVERLOADED, "Overloaded", True, None),
        (530, CLOUDFLARE, "Origin DNS error | x.example | Cloudflare", True, None),
        (200, error("Provider returned error", code=502), "Provider returned error", True, None),
        (200, error("Insufficient credits", code=402), "Insufficient credits", False, "credit"),
        (200, error("Too fast", type="rate_limit"), "Too fast", True, None),
        (
            200,
            {"code": 50505, "message": "Overloaded, try again", "data": None},
            "Overloaded, try again",
            True,
            None,
        ),
        (200, {"code": 30001, "message": "no balance"}, "no balance", False, "credit"),
        (200, error("Bad prompt", code="content_policy_violation"), "Bad prompt", False, "content"),
        (500, error("not finite", code="not_finite"), "not finite", False, "numbers"),
    ],
)
def test_a_fault_is_read_as_its_api_means_it(status, body, said, passes, reason):
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert not succeeded(status, sent)
    found = fault(status, sent, {"30001": "credit"})
    assert (found.said, found.passes, found.reason) == (said, passes, reason)


@pytest.mark.parametrize("each", ANSWERS, ids=lambda each: f"{each.reply.status}-{each.words[:20]}")
def test_an_error_of_any_api_is_told_in_its_words_and_asked_again_only_if_it_may_pass(each: Scripted):
    status, body = each.reply.status, each.reply.body
    found = DIALECTS["openai"].fault(status, body)
    told = f"HTTP {status}" + (f" ({found.said})" if found.said else "") + HINTS.get(found.reason, "")
    assert not succeeded(status, body)
    assert found.passes == each.passes
    assert re.search(each.words, told)


def test_the_documentation_states_the_rule():
    page = (Path(__file__).parents[3] / "docs" / "your-model.md").read_text()
    passing, final = re.search(r"Lost connections, (.*?)\bnor is", " ".join(page.split()))[1].split(
        "provider.patience"
    )
    assert {int(each) for each in re.findall(r"\d{3}", passing)} == {*PASSING, 500}
    assert {int(each) for each in re.findall(r"\d{3}", final)} == FINAL


@pytest.mark.parametrize("status", [200, 201, 202, 203, 206])
@pytest.mark.parametrize(
    "body",
    [
        {"data": [{"b64_json": "x"}], "error": None},
        {"images": ["x"], "info": "{}", "code": 1, "message": "warnings"},
        {"object": "list", "data": []},
        {"code": 20000, "message": "Ok", "status": True, "data": {"totalBalance": "1"}},
        [],
        {"amount": 3.5},
    ],
)
def test_an_answer_that_brings_what_was_asked_for_is_a_success(status, body):
    assert succeeded(status, json.dumps(body).encode())
