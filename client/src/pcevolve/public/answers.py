"""Decide whether an API's answer is a success, from its status and from any error in a short body.

Some APIs, among them OpenRouter and SiliconFlow, send status 200 with an error in the body. The gate, the
record and the audit all call these functions, so that they agree.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final

LONGEST_FAULT: Final = 64 * 2**10
"""Length in bytes of the longest body that is parsed as an error."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BROUGHT: Final = ("data", "images", "image", "choices", "artifacts")
"""Keys under which an answer holds its outputs."""
_ERRORS: Final = ("error", "errors", "detail", "Error", "errorMessage")
_FAILED: Final = frozenset({"error", "fail", "failed", "failure", "canceled", "cancelled"})
"""Words by which a body reports a failed request."""
_FINE: Final = {None, "", 0, 200, "0", "200", "ok", "OK", "success"}
"""Codes that report success."""


def is_success(status: int) -> bool:
    """True if a status reports success."""
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def has_succeeded(status: int, body: bytes) -> bool:
    """True if an answer reports success in its status and reports no error in its body."""
    return is_success(status) and not is_error(parse(body))


def strip_mark(body: bytes) -> bytes:
    """Remove a leading byte order mark. JSON must not have one (RFC 8259, 8.1), but some APIs send one."""
    return body.removeprefix(_BYTE_ORDER_MARK)


def parse(body: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Parse a short body as JSON; None if it is not JSON, or is too long to be an error."""
    if len(body) > LONGEST_FAULT:
        return None
    try:
        return json.loads(strip_mark(body))
    except (ValueError, RecursionError):
        return None


def is_error(answer: object) -> bool:
    """True if a body reports an error and contains no outputs."""
    if not isinstance(answer, dict):
        return False
    # Checked before the outputs below, because choices are outputs too.
    choices = answer.get("choices")
    if isinstance(choices, list) and choices and all(_has_error(each) for each in choices):
        return True
    if any(answer.get(name) for name in _BROUGHT):
        return False
    if (
        any(answer.get(name) for name in _ERRORS)
        or answer.get("object") == "error"
        or _states_failure(answer)
    ):
        return True
    wrapped = answer.get("base_resp")
    if isinstance(wrapped, dict) and wrapped.get("status_code") not in (0, None):
        return True
    code, message = answer.get("code"), answer.get("message") or answer.get("msg")
    return bool(message) and isinstance(code, str | int | None) and code not in _FINE


def _states_failure(answer: dict[str, Any]) -> bool:
    """True if a body, or its ``output``, reports that the request failed."""
    inner = answer.get("output")
    stated = [each for each in (answer, inner) if isinstance(each, dict)]
    words = (each.get(name) for each in stated for name in ("status", "state", "result", "task_status"))
    return (
        answer.get("success") is False
        or answer.get("ok") is False
        or any(isinstance(each, str) and each.lower() in _FAILED for each in words)
    )


def _has_error(choice: object) -> bool:
    """True if one of the choices in a chat answer ended with an error."""
    return isinstance(choice, dict) and bool(choice.get("error"))
