"""Read the errors of many APIs, whatever their shape, as one type. Nothing they say is trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pcevolve.errors import printable

Reason = Literal["key", "credit", "content"]
_LONGEST_BODY: Final = 64 * 2**10
_LONGEST_MESSAGE: Final = 200
_MESSAGES: Final = ("message", "detail", "errors", "error")
_CODES: Final = ("code", "type", "name")


@dataclass(frozen=True)
class Fault:
    """An answer that is no success.

    Attributes:
        said: The API's own short message, printable; empty when it has no known shape.
        reason: Why asking again would not help, where that is known: the key, the account's credit, or moderation.
    """

    said: str
    reason: Reason | None


def fault(status: int, body: bytes, reasons: Mapping[str, Reason]) -> Fault:
    """Read an error answer.

    Args:
        status: HTTP status.
        body: As it came.
        reasons: What the API's own error codes mean.
    """
    answer = _parse(body)
    known = (reasons[code] for code in _codes(answer) if code in reasons)
    by_status: dict[int, Reason] = {401: "key", 402: "credit"}
    return Fault(_message(answer), next(known, by_status.get(status)))


def _parse(body: bytes) -> Any:  # noqa: ANN401 - whatever JSON holds
    if len(body) > _LONGEST_BODY:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


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
    texts = [answer] if isinstance(answer, str) else []
    for layer in _layers(answer):
        for name in _MESSAGES:
            value = layer.get(name)
            first = value[0] if isinstance(value, list) and value else value
            if isinstance(first, str) and first:
                texts.append(first)
    return printable(texts[0])[:_LONGEST_MESSAGE] if texts else ""
