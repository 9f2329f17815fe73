"""Scripted answers of many APIs, each with the public document that its shape was read from."""

from __future__ import annotations

from typing import NamedTuple

from support.online import Reply, said


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
OPENAI = "OpenAI, Error codes: platform.openai.com/docs/guides/error-codes"
OPENROUTER = "OpenRouter, Errors and Debugging: openrouter.ai/docs/api/reference/errors-and-debugging"
MINIMAX = "MiniMax, Error Codes: platform.minimax.io/docs/api-reference/errorcode"
QWEN = "Alibaba Cloud Model Studio, Error messages: alibabacloud.com/help/en/model-studio/error-code"
ARK = "Volcengine Ark, error codes: volcengine.com/docs/82379/1299023"
GEMINI = "Gemini API, Troubleshooting: ai.google.dev/gemini-api/docs/troubleshooting"
ANTHROPIC = "Anthropic, Errors: docs.anthropic.com/en/api/errors"
CLOUDFLARE = "Cloudflare, 5xx errors: developers.cloudflare.com/support/troubleshooting/http-status-codes"
NGINX = "nginx, ngx_http_special_response.c: github.com/nginx/nginx"
WEBUI = "AUTOMATIC1111, modules/api/api.py and modules/devices.py: github.com/AUTOMATIC1111/stable-diffusion-webui"
VLLM = "vLLM, OpenAI-Compatible Server: docs.vllm.ai/en/latest/serving/openai_compatible_server"
S3 = "Amazon S3, Error responses: docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"
RFC = "RFC 9110, HTTP Semantics, section 15"
REPLICATE = "Replicate, HTTP API: replicate.com/docs/reference/http"
LAMBDA = "AWS Lambda, exceptions in Python: docs.aws.amazon.com/lambda/latest/dg/python-exceptions"
OURS = "pcevolve_server/errors.py"


def _error(status: int, **fields: object) -> Reply:
    return said(status, {"error": fields})


ANSWERS = (
    # whatever the status, its class decides
    *(Scripted(RFC, Reply(each, b""), True, f"HTTP {each}") for each in (408, 425, 429, 500, 502, 503, 504, 507)),
    *(Scripted(RFC, Reply(each, b""), False, f"HTTP {each}") for each in (400, 403, 404, 405, 409, 413, 415, 422)),
    *(Scripted(RFC, Reply(each, b""), False, f"HTTP {each}") for each in (501, 505, 511)),
    *(Scripted(CLOUDFLARE, Reply(each, b"error code: %d" % each), True, f"error code: {each}")
      for each in (520, 522, 524, 530)),
    Scripted(ANTHROPIC, said(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
             True, r"HTTP 529 \(Overloaded\)"),
    # a code knows better than its status
    Scripted(OPENAI, _error(429, code="insufficient_quota", message="You exceeded your current quota"), False,
             "exceeded.*: no credit left"),
    Scripted(OPENAI, _error(429, code="rate_limit_exceeded", message="Rate limit reached"), True, "Rate limit reached"),
    Scripted(GEMINI, said(429, [{"error": {"code": 429, "message": "You exceeded your current quota, please check",
                                           "status": "RESOURCE_EXHAUSTED"}}]), True, "exceeded your current quota"),
    Scripted(QWEN, _error(400, code="Arrearage", type="Arrearage", message="Access denied, account in bad standing"),
             False, "bad standing.*: no credit left"),
    Scripted(QWEN, said(400, {"code": "DataInspectionFailed", "message": "Input data may contain..."}), False,
             "its moderation does not allow"),
    Scripted(QWEN, said(403, {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded"}), True,
             "Requests rate limit exceeded"),
    Scripted(ARK, _error(403, code="AccountOverdueError", message="overdue balance"), False, "no credit left"),
    Scripted(ARK, _error(400, code="OutputImageSensitiveContentDetected", message="may contain sensitive"), False,
             "its moderation does not allow"),
    Scripted(WEBUI, said(500, {"error": "NansException", "detail": "", "body": "",
                               "errors": "A tensor with NaNs was produced in Unet."}), False,
             r"NaNs was produced.*--precision float32"),
    Scripted(OURS, _error(422, code="not_finite", message="the model's output is not finite"), False,
             "not finite.*--precision float32"),
    # an error in the body of a success
    Scripted(OPENROUTER, _error(200, code=402, message="Insufficient credits"), False, "HTTP 200.*: no credit left"),
    Scripted(OPENROUTER, _error(200, code=429, message="Rate limited upstream"), True, "Rate limited upstream"),
    Scripted(OPENROUTER, _error(200, code=502, message="Provider returned error"), True, "Provider returned error"),
    Scripted(OPENROUTER, said(200, {"choices": [{"finish_reason": "error", "message": {"content": ""},
                                                 "error": {"code": 403, "message": "flagged by moderation"}}]}),
             False, "flagged by moderation.*its moderation does not"),
    Scripted(MINIMAX, said(200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}), False,
             "insufficient balance.*: no credit left"),
    Scripted(MINIMAX, said(200, {"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}),
             True, "rate limit"),
    Scripted(VLLM, said(200, {"object": "error", "code": 400, "type": "BadRequestError", "message": "too long"}),
             False, r"HTTP 200 \(too long\)"),
    Scripted(QWEN, said(200, {"code": "DataInspectionFailed", "message": "no", "request_id": "1"}), False,
             "moderation"),
    Scripted(REPLICATE, said(200, {"id": "a", "status": "failed", "error": "NSFW content detected"}), False,
             "NSFW content detected.*its moderation does not"),
    Scripted(QWEN, said(200, {"output": {"task_status": "FAILED", "code": "InternalError.Timeout", "message": "slow: "
                                         "timeout"}, "request_id": "1"}), True, "slow: timeout"),
    Scripted("Slack, Web API: docs.slack.dev/apis/web-api", said(200, {"ok": False, "reason": "no such prompt"}), False,
             r"HTTP 200 \(no such prompt\)"),
    Scripted(LAMBDA, said(200, {"errorMessage": "no such size", "errorType": "ValueError"}), False, "no such size"),
    Scripted("Amazon Bedrock, Common errors: docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors",
             said(400, {"__type": "ThrottlingException", "message": "Rate exceeded"}), True, "Rate exceeded"),
    Scripted("Apigee, Quota policy: cloud.google.com/apigee/docs/api-platform/reference/policies/quota-policy",
             said(429, {"fault": {"faultstring": "Quota violation", "detail": {"errorcode": "policies.ratelimit.Q"}}}),
             True, "Quota violation"),
    # in the API's own words, whatever wraps them
    Scripted(FASTAPI, said(422, {"detail": [{"loc": ["body", "size"], "msg": "value is not a valid enumeration member",
                                             "type": "type_error.enum"}]}), False,
             r"body\.size: value is not a valid enumeration member"),
    Scripted(FASTAPI, said(404, {"detail": "Not Found"}), False, r"HTTP 404 \(Not Found\)"),
    Scripted(FASTAPI, said(400, {"detail": {"error": {"message": "no such LoRA"}}}), False, "no such LoRA"),
    Scripted(NGINX, Reply(413, b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>"
                               b"<h1>413</h1></body></html>"), False, "413 Request Entity Too Large"),
    Scripted(NGINX, Reply(502, b"<html><head><title>502 Bad Gateway</title></head></html>"), True, "502 Bad Gateway"),
    Scripted(S3, Reply(403, b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired'
                            b"</Message></Error>"), False, "Request has expired"),
    Scripted(RFC, Reply(503, b"upstream connect error"), True, "upstream connect error"),
    Scripted("RFC 9457, Problem Details", said(400, {"type": "about:blank", "title": "Bad size", "status": 400}), False,
             "Bad size"),
    Scripted("RFC 8259, section 8.1: a byte order mark", Reply(400, b'\xef\xbb\xbf{"message": "marked"}'), False,
             "marked"),
)  # fmt: skip
