"""Errors as APIs word them: what is said, why asking again would not help, and whether it may pass.

Shapes are those of the public documents that are named beside them; those without a name are of OpenAI's "Error codes"
(platform.openai.com/docs/guides/error-codes), Together AI's (docs.together.ai/docs/error-codes) and SiliconFlow's
(docs.siliconflow.cn).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pcevolve.public.answers import has_succeeded
from pcevolve.wire.egress.exchange import HINTS
from pcevolve.wire.providers.faults import FINAL, PASSING, fault


def error(message: str, **more: object) -> dict[str, object]:
    """An error as OpenAI and those who follow it word it."""
    return {"error": {"message": message, **more}}


CREDIT, MODERATED, FLOAT32 = "no credit is left", "its moderation does not allow", "--precision float32"
ANSWERS = [
    # RFC 9110, HTTP Semantics, section 15: whatever the status, its class decides
    *((status, b"", False, "") for status in (302, 400, 403, 405, 409, 413, 415, 501, 505, 506, 510, 511)),
    *((status, b"", True, "") for status in (408, 425, 429, 500, 503, 504, 507, 508, 520, 524, 599)),
    (503, b"upstream connect error", True, "upstream connect error"),
    # Cloudflare, 5xx errors: developers.cloudflare.com/support/troubleshooting/http-status-codes
    *((status, b"error code: %d" % status, True, f"error code: {status}") for status in (520, 522, 524, 530)),
    (530, b"<!DOCTYPE html><title>Origin DNS error | x.example | Cloudflare</title>", True, r"Origin DNS error \| x"),
    (500, error("The server had an error"), True, r"500 \(The server had an error\)$"),
    (429, error("Slow down", code="rate_limit_exceeded"), True, r"\(Slow down\)$"),
    (401, error("Incorrect API key provided"), False, r"Incorrect API key provided\).*key"),
    # a code knows better than its status
    (429, error("quota", code="insufficient_quota"), False, rf"\(quota\).*{CREDIT}"),
    (400, error("no", code="moderation_blocked"), False, MODERATED),
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, True, "Overloaded"),
    # Gemini API, Troubleshooting: ai.google.dev/gemini-api/docs/troubleshooting
    (429, [error("exceeded your current quota", code=429, status="RESOURCE_EXHAUSTED")], True, "your current quota"),
    # Alibaba Cloud Model Studio, Error messages: alibabacloud.com/help/en/model-studio/error-code
    (400, error("account in bad standing", code="Arrearage", type="Arrearage"), False, f"bad standing.*{CREDIT}"),
    (400, {"code": "DataInspectionFailed", "message": "Input data may contain..."}, False, MODERATED),
    (403, {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded"}, True, "rate limit exceeded"),
    # Volcengine Ark, error codes: volcengine.com/docs/82379/1299023
    (403, error("overdue balance", code="AccountOverdueError"), False, CREDIT),
    (400, error("may contain sensitive", code="OutputImageSensitiveContentDetected"), False, MODERATED),
    # AUTOMATIC1111, modules/api/api.py and modules/devices.py: github.com/AUTOMATIC1111/stable-diffusion-webui
    (500, {"error": "NansException", "detail": "", "errors": "NaNs was produced in Unet."}, False, FLOAT32),
    # pcevolve_server/errors.py
    (422, error("the model's output is not finite", code="not_finite"), False, f"not finite.*{FLOAT32}"),
    (500, error("not finite", code="not_finite"), False, f"not finite.*{FLOAT32}"),
    # Amazon Bedrock, Common errors: docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors
    (400, {"__type": "ThrottlingException", "message": "Rate exceeded"}, True, "Rate exceeded"),
    # Apigee, Quota policy: cloud.google.com/apigee/docs/api-platform/reference/policies/quota-policy
    (429, {"fault": {"faultstring": "Quota", "detail": {"errorcode": "policies.ratelimit.Q"}}}, True, r"\(Quota\)"),
    # an error in the body of a success
    (200, error("Too fast", type="rate_limit"), True, "Too fast"),
    (200, error("Bad prompt", code="content_policy_violation"), False, MODERATED),
    (200, {"code": 50505, "message": "Overloaded, try again", "data": None}, True, "Overloaded, try again"),
    (200, {"code": 30001, "message": "no balance"}, False, f"no balance.*{CREDIT}"),
    # OpenRouter, Errors and Debugging: openrouter.ai/docs/api/reference/errors-and-debugging
    (200, error("Provider returned error", code=502), True, "Provider returned error"),
    (200, error("Insufficient credits", code=402), False, CREDIT),
    (200, error("Rate limited upstream", code=429), True, "Rate limited upstream"),
    (200, {"choices": [{"finish_reason": "error", "message": {"content": ""},
                        **error("flagged by moderation", code=403)}]}, False, f"flagged.*{MODERATED}"),
    # MiniMax, Error Codes: platform.minimax.io/docs/api-reference/errorcode
    (200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, False, CREDIT),
    (200, {"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, True, "rate limit"),
    # vLLM, OpenAI-Compatible Server: docs.vllm.ai/en/latest/serving/openai_compatible_server
    (200, {"object": "error", "code": 400, "type": "BadRequestError", "message": "too long"}, False, "too long"),
    # Alibaba Cloud Model Studio, as above
    (200, {"code": "DataInspectionFailed", "message": "no", "request_id": "1"}, False, "moderation"),
    (200, {"output": {"task_status": "FAILED", "code": "InternalError.Timeout", "message": "slow: timeout"}}, True,
     "slow: timeout"),
    # Replicate, HTTP API: replicate.com/docs/reference/http
    (200, {"id": "a", "status": "failed", "error": "NSFW content detected"}, False, f"NSFW content.*{MODERATED}"),
    # Slack, Web API: docs.slack.dev/apis/web-api
    (200, {"ok": False, "reason": "no such prompt"}, False, r"HTTP 200 \(no such prompt\)"),
    # AWS Lambda, exceptions in Python: docs.aws.amazon.com/lambda/latest/dg/python-exceptions
    (200, {"errorMessage": "no such size", "errorType": "ValueError"}, False, "no such size"),
    # a size that the model does not make: openai-php/client, issue 641, and BerriAI/litellm, pull request 40074
    (400, error("Invalid value: '512x512'. Supported values are: '1024x1024', and 'auto'.", param="size",
                code="invalid_value"), False, "--set provider.size=1024"),
    (400, error("Model does not support request parameter value supplied: 'width' must be at least 768 pixels.",
                code="unsupported_request_value"), False, "--set provider.size"),
    # FastAPI, Handling Errors: fastapi.tiangolo.com/tutorial/handling-errors: in its own words, whatever wraps them
    (422, {"detail": [{"loc": ["body", "size"], "msg": "is no valid member", "type": "type_error.enum"}]}, False,
     r"\(body\.size: is no valid member\)"),
    (400, {"detail": {"error": {"message": "no such LoRA"}}}, False, "no such LoRA"),
    (404, {"detail": "Not Found"}, False, r"\(Not Found\)"),
    # nginx, ngx_http_special_response.c: github.com/nginx/nginx
    (413, b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<h1>413</h1></html>", False,
     r"\(413 Request Entity Too Large\)"),
    (502, b"<html>\n<head><title>502 Bad Gateway</title></head>\n<body></body></html>", True, r"\(502 Bad Gateway\)"),
    # Amazon S3, Error responses: docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
    (403, b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>', False,
     r"\(Request has expired\)"),
    # RFC 9457, Problem Details; RFC 8259, section 8.1: a byte order mark
    (400, {"type": "about:blank", "title": "Bad size", "status": 400}, False, "Bad size"),
    (400, b'\xef\xbb\xbf{"message": "marked"}', False, r"\(marked\)"),
    # nobody's: what lies deeper than anybody wraps it is not looked for
    (400, b"[" * 500 + b'{"message": "deep"}' + b"]" * 500, False, ""),
    (400, b'{"error":' * 500 + b'{"message": "deep"}' + b"}" * 500, False, ""),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "passes", "words"), ANSWERS)
def test_an_error_of_any_api_is_told_in_its_words_and_asked_again_only_if_it_may_pass(
    status, body, passes, words
):
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert not has_succeeded(status, sent)
    found = fault(status, sent, {"30001": "credit"})
    told = f"HTTP {status}" + (f" ({found.message})" if found.message else "") + HINTS.get(found.reason, "")
    assert found.passes == passes
    assert re.search(words, told)
    assert words or told == f"HTTP {status}"


def test_the_documentation_states_the_rule():
    page = (Path(__file__).parents[4] / "docs" / "your-model.md").read_text()
    rule = re.search(r"After a lost connection, (.*?), a wrong key", " ".join(page.split()))[1]
    passing, final = rule.split("provider.patience")
    assert {int(each) for each in re.findall(r"\d{3}", passing)} == {*PASSING, 500}
    assert {int(each) for each in re.findall(r"\d{3}", final)} == FINAL
