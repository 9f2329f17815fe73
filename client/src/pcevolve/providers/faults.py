"""Read the errors of many APIs, whatever their shape, as one type. Nothing they say is trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from http import HTTPStatus
from typing import Any, Final, Literal

from pcevolve.errors import printable
from pcevolve.public.answers import is_success, parse

Reason = Literal["key", "credit", "content", "numbers"]
REASONS: Final[Mapping[str, Reason]] = {
    "insufficient_quota": "credit",
    "insufficient_credits": "credit",
    "insufficient_balance": "credit",
    "billing_hard_limit_reached": "credit",
    "payment_required": "credit",
    "invalid_api_key": "key",
    "invalid_key": "key",
    "moderation_blocked": "content",
    "content_policy_violation": "content",
    "content_filter": "content",
    "content_moderation": "content",
    "content_rejected": "content",
    "not_finite": "numbers",
}
"""What codes of errors mean that several APIs share; a dialect has those of its API besides."""
FINAL: Final = frozenset(
    {
        HTTPStatus.NOT_IMPLEMENTED,
        HTTPStatus.HTTP_VERSION_NOT_SUPPORTED,
        HTTPStatus.VARIANT_ALSO_NEGOTIATES,
        HTTPStatus.NOT_EXTENDED,
        HTTPStatus.NETWORK_AUTHENTICATION_REQUIRED,
    }
)
"""Statuses from 500 on that no further attempt changes."""
PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
"""Statuses below 500 of a failure that may pass."""
_PASSING_WORDS: Final = re.compile(
    r"rate.?limit|too.?many|overload|busy|unavailable|timeout|timed.?out|try.?again|capacity|server_?error",
    re.IGNORECASE,
)
"""In an error under the status of a success: it may pass."""
_LONGEST_MESSAGE: Final = 200
_MESSAGES: Final = ("message", "msg", "detail", "errors", "error")
_CODES: Final = ("code", "type", "name")
_TITLE: Final = re.compile(rb"<title[^>]*>([^<]{1,400})", re.IGNORECASE)


@dataclass(frozen=True)
class Fault:
    """An answer that is no success.

    Attributes:
        said: The API's own short message, printable; empty when it has no known shape.
        reason: Why asking again would not help, where that is known: the key, the account's credit, moderation, or a
            model that computes no numbers.
        passes: Whether the same request may succeed later.
    """

    said: str
    reason: Reason | None
    passes: bool


def fault(status: int, body: bytes, reasons: Mapping[str, Reason]) -> Fault:
    """Read an error answer.

    Args:
        status: HTTP status.
        body: As it came.
        reasons: What the API's own error codes mean.
    """
    answer = parse(body)
    codes = list(_codes(answer))
    known = ({**REASONS, **reasons}[code] for code in codes if code in reasons or code in REASONS)
    by_status: dict[int, Reason] = {401: "key", 402: "credit"}
    said = _message(answer) or _title(body)
    inner = _status_within(codes) if is_success(status) else status
    reason = next(known, by_status.get(inner))
    by_words = is_success(status) and _PASSING_WORDS.search(" ".join([*codes, said])) is not None
    return Fault(said, reason, reason is None and (by_words or may_pass(inner)))


def may_pass(status: int) -> bool:
    """True if a failure of this status may pass."""
    return status in PASSING or (status >= HTTPStatus.INTERNAL_SERVER_ERROR and status not in FINAL)


def _status_within(codes: list[str]) -> int:
    """Return the HTTP status that an error under the status of a success has for a code; 0 if none."""
    found = (int(code) for code in codes if code.isascii() and code.isdigit() and len(code) == len("503"))
    return next((code for code in found if code >= HTTPStatus.BAD_REQUEST), 0)


def _layers(answer: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - whatever JSON holds
    """The error itself and what wraps it, the innermost first."""
    if isinstance(answer, dict):
        if isinstance(answer.get("error"), dict):
            yield answer["error"]
        yield answer


def _codes(answer: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    for layer in _layers(answer):
        for name in _CODES:
            if isinstance(layer.get(name), str | int):
                yield str(layer[name])


def _message(answer: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    texts: list[Any] = [answer]
    for layer in _layers(answer):
        for name in _MESSAGES:
            value = layer.get(name)
            first = value[0] if isinstance(value, list) and value else value
            texts.append(_field_fault(first) if isinstance(first, dict) else first)
    return next((_short(text) for text in texts if isinstance(text, str) and text.strip()), "")


def _field_fault(detail: dict[str, Any]) -> str:
    """A fault of one field as FastAPI words it: where, and what."""
    where, what = detail.get("loc"), detail.get("msg") or detail.get("message")
    if not isinstance(what, str):
        return ""
    return f"{'.'.join(map(str, where))}: {what}" if isinstance(where, list) and where else what


def _title(body: bytes) -> str:
    """The title of a page of HTML, which proxies answer with."""
    found = _TITLE.search(body[:4096]) if body.lstrip()[:1] == b"<" else None
    return _short(unescape(found[1].decode("utf-8", "replace"))) if found else ""


def _short(text: str) -> str:
    return printable(" ".join(text.split()))[:_LONGEST_MESSAGE]
