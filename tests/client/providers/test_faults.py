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
from typing import NamedTuple

import pytest

from pcevolve.egress.exchange import HINTS
from pcevolve.providers import DIALECTS
from pcevolve.providers.faults import FINAL, PASSING, fault
from pcevolve.public.answers import has_succeeded
from support.online import Reply, answer_json


class Scripted(NamedTuple):
    """An answer that is no success, and how it has to be read.

    Attributes:
        source: Title and address of the document.
        reply: The answer.
        passes: Whether asking again may help.
        words: Part of what the owner is told.
    """

    source: str
    reply: Reply
    passes: bool
    words: str


FASTAPI = "FastAPI, Handling Errors: fastapi.tiangolo.com/tutorial/handling-errors"
OPENROUTER = "OpenRouter, Errors and Debugging: openrouter.ai/docs/api/reference/errors-and-debugging"
MINIMAX = "MiniMax, Error Codes: platform.minimax.io/docs/api-reference/errorcode"
QWEN = "Alibaba Cloud Model Studio, Error messages: alibabacloud.com/help/en/model-studio/error-code"
ARK = "Volcengine Ark, error codes: volcengine.com/docs/82379/1299023"
GEMINI = "Gemini API, Troubleshooting: ai.google.dev/gemini-api/docs/troubleshooting"
CLOUDFLARE = "Cloudflare, 5xx errors: developers.cloudflare.com/support/troubleshooting/http-status-codes"
NGINX = "nginx, ngx_http_special_response.c: github.com/nginx/nginx"
WEBUI = "AUTOMATIC1111, modules/api/api.py and modules/devices.py: github.com/AUTOMATIC1111/stable-diffusion-webui"
VLLM = "vLLM, OpenAI-Compatible Server: docs.vllm.ai/en/latest/serving/openai_compatible_server"
S3 = "Amazon S3, Error responses: docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"
RFC = "RFC 9110, HTTP Semantics, section 15"
REPLICATE = "Replicate, HTTP API: replicate.com/docs/reference/http"
LAMBDA = "AWS Lambda, exceptions in Python: docs.aws.amazon.com/lambda/latest/dg/python-exceptions"
OURS = "pcevolve_server/errors.py"
OPENAI = "openai-php/client, issue 641, and BerriAI/litellm, pull request 40074: github.com"


_say = answer_json


def _error(status: int, **fields: object) -> Reply:
    return _say(status, {"error": fields})


ANSWERS = (
    # whatever the status, its class decides
    *(Scripted(CLOUDFLARE, Reply(each, b"error code: %d" % each), True, f"error code: {each}")
      for each in (520, 522, 524, 530)),
    # a code knows better than its status
    Scripted(GEMINI, _say(429, [{"error": {"code": 429, "message": "You exceeded your current quota, please check",
                                           "status": "RESOURCE_EXHAUSTED"}}]), True, "exceeded your current quota"),
    Scripted(QWEN, _error(400, code="Arrearage", type="Arrearage", message="Access denied, account in bad standing"),
             False, "bad standing.*: no credit left"),
    Scripted(QWEN, _say(400, {"code": "DataInspectionFailed", "message": "Input data may contain..."}), False,
             "its moderation does not allow"),
    Scripted(QWEN, _say(403, {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded"}), True,
             "Requests rate limit exceeded"),
    Scripted(ARK, _error(403, code="AccountOverdueError", message="overdue balance"), False, "no credit left"),
    Scripted(ARK, _error(400, code="OutputImageSensitiveContentDetected", message="may contain sensitive"), False,
             "its moderation does not allow"),
    Scripted(WEBUI, _say(500, {"error": "NansException", "detail": "", "body": "",
                               "errors": "A tensor with NaNs was produced in Unet."}), False,
             r"NaNs was produced.*--precision float32"),
    Scripted(OURS, _error(422, code="not_finite", message="the model's output is not finite"), False,
             "not finite.*--precision float32"),
    # an error in the body of a success
    Scripted(OPENROUTER, _error(200, code=429, message="Rate limited upstream"), True, "Rate limited upstream"),
    Scripted(OPENROUTER, _say(200, {"choices": [{"finish_reason": "error", "message": {"content": ""},
                                                 "error": {"code": 403, "message": "flagged by moderation"}}]}),
             False, "flagged by moderation.*its moderation does not"),
    Scripted(MINIMAX, _say(200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}), False,
             "insufficient balance.*: no credit left"),
    Scripted(MINIMAX, _say(200, {"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}),
             True, "rate limit"),
    Scripted(VLLM, _say(200, {"object": "error", "code": 400, "type": "BadRequestError", "message": "too long"}),
             False, r"HTTP 200 \(too long\)"),
    Scripted(QWEN, _say(200, {"code": "DataInspectionFailed", "message": "no", "request_id": "1"}), False,
             "moderation"),
    Scripted(REPLICATE, _say(200, {"id": "a", "status": "failed", "error": "NSFW content detected"}), False,
             "NSFW content detected.*its moderation does not"),
    Scripted(QWEN, _say(200, {"output": {"task_status": "FAILED", "code": "InternalError.Timeout", "message": "slow: "
                                         "timeout"}, "request_id": "1"}), True, "slow: timeout"),
    Scripted("Slack, Web API: docs.slack.dev/apis/web-api", _say(200, {"ok": False, "reason": "no such prompt"}), False,
             r"HTTP 200 \(no such prompt\)"),
    Scripted(LAMBDA, _say(200, {"errorMessage": "no such size", "errorType": "ValueError"}), False, "no such size"),
    Scripted("Amazon Bedrock, Common errors: docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors",
             _say(400, {"__type": "ThrottlingException", "message": "Rate exceeded"}), True, "Rate exceeded"),
    Scripted("Apigee, Quota policy: cloud.google.com/apigee/docs/api-platform/reference/policies/quota-policy",
             _say(429, {"fault": {"faultstring": "Quota violation", "detail": {"errorcode": "policies.ratelimit.Q"}}}),
             True, "Quota violation"),
    # a size that the model does not make
    Scripted(OPENAI, _error(400, message="Invalid value: '512x512'. Supported values are: '1024x1024', and 'auto'.",
                            param="size", code="invalid_value"), False, "--set provider.size=1024"),
    Scripted(OPENAI, _error(400, code="unsupported_request_value", message="Model does not support request parameter "
                            "value supplied: 'width' must be at least 768 pixels."), False, "--set provider.size"),
    # in the API's own words, whatever wraps them
    Scripted(FASTAPI, _say(422, {"detail": [{"loc": ["body", "size"], "msg": "value is not a valid enumeration member",
                                             "type": "type_error.enum"}]}), False,
             r"body\.size: value is not a valid enumeration member"),
    Scripted(FASTAPI, _say(400, {"detail": {"error": {"message": "no such LoRA"}}}), False, "no such LoRA"),
    Scripted(NGINX, Reply(413, b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>"
                               b"<h1>413</h1></body></html>"), False, "413 Request Entity Too Large"),
    Scripted(S3, Reply(403, b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired'
                            b"</Message></Error>"), False, "Request has expired"),
    Scripted(RFC, Reply(503, b"upstream connect error"), True, "upstream connect error"),
    Scripted("RFC 9457, Problem Details", _say(400, {"type": "about:blank", "title": "Bad size", "status": 400}), False,
             "Bad size"),
    Scripted("RFC 8259, section 8.1: a byte order mark", Reply(400, b'\xef\xbb\xbf{"message": "marked"}'), False,
             "marked"),
)  # fmt: skip


NGINX_PAGE = (
    b"<html>\n<head><title>502 Bad Gateway</title></head>\n<body><h1>502 Bad Gateway</h1></body></html>"
)
CLOUDFLARE_PAGE = b"<!DOCTYPE html><title>Origin DNS error | x.example | Cloudflare</title>"
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
        (502, NGINX_PAGE, "502 Bad Gateway", True, None),
        (422, SCHEMA, "body.prompt: Field required", False, None),
        (404, {"detail": "Not Found"}, "Not Found", False, None),
        (401, error("Incorrect API key provided"), "Incorrect API key provided", False, "key"),
        (400, error("no", code="moderation_blocked"), "no", False, "content"),
        *(
            (status, b"", "", False, None)
            for status in (302, 400, 403, 405, 409, 413, 415, 501, 505, 506, 510, 511)
        ),
        *(
            (status, b"", "", True, None)
            for status in (408, 425, 429, 500, 503, 504, 507, 508, 520, 524, 599)
        ),
        (529, OVERLOADED, "Overloaded", True, None),
        (530, CLOUDFLARE_PAGE, "Origin DNS error | x.example | Cloudflare", True, None),
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
    assert not has_succeeded(status, sent)
    found = fault(status, sent, {"30001": "credit"})
    assert (found.said, found.passes, found.reason) == (said, passes, reason)


@pytest.mark.parametrize("each", ANSWERS, ids=lambda each: f"{each.reply.status}-{each.words[:20]}")
def test_an_error_of_any_api_is_told_in_its_words_and_asked_again_only_if_it_may_pass(each: Scripted):
    status, body = each.reply.status, each.reply.body
    found = DIALECTS["openai"].fault(status, body)
    told = f"HTTP {status}" + (f" ({found.said})" if found.said else "") + HINTS.get(found.reason, "")
    assert not has_succeeded(status, body)
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
    assert has_succeeded(status, json.dumps(body).encode())
