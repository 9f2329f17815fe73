"""Find the short message in an error's body: JSON of many shapes, a page in HTML or XML, or plain text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, Final

from pcevolve.errors import printable
from pcevolve.public.answers import BYTE_ORDER_MARK, LONGEST_FAULT

_LONGEST_MESSAGE: Final = 200
_LONGEST_PLAIN: Final = 400
"""Bytes of a body that is taken for a message itself."""
_DEEPEST: Final = 4
_MESSAGES: Final = ("message", "msg", "detail", "status_msg", "error_description", "errors", "error", "title")
_WRAPPERS: Final = ("error", "detail", "base_resp", "errors", "choices")
_TITLE: Final = re.compile(rb"<(?:title|Message|h1)[^>]*>\s*([^<]{1,300})", re.IGNORECASE)


def words_of(body: bytes, answer: Any) -> str:  # noqa: ANN401 - whatever JSON holds
    """The message of an error; empty where there is none.

    Args:
        body: As it came.
        answer: Its JSON; None if it is none.
    """
    found = next(_texts(answer), "") if answer is not None else _page(body)
    return " ".join(printable(found).split())[:_LONGEST_MESSAGE]


def layers(answer: Any, depth: int = 0) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - whatever JSON holds
    """The error itself and what wraps it, the innermost first."""
    if isinstance(answer, list) and answer and depth < _DEEPEST:
        yield from layers(answer[0], depth + 1)
    if isinstance(answer, dict):
        for name in _WRAPPERS:
            if depth < _DEEPEST:
                yield from layers(answer.get(name), depth + 1)
        yield answer


def _texts(answer: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    """Messages of an error, the best first."""
    if isinstance(answer, str):
        yield answer
    for layer in layers(answer):
        where = layer.get("loc")  # FastAPI says in a list which field is wrong, and how
        at = f"{'.'.join(map(str, where[:6]))}: " if isinstance(where, list) and where else ""
        for name in _MESSAGES:
            value = layer.get(name)
            first = value[0] if isinstance(value, list) and value else value
            if isinstance(first, str) and first.strip():
                yield at + first


def _page(body: bytes) -> str:
    """The title of a page, or a body that is a short message itself."""
    if found := _TITLE.search(body[:LONGEST_FAULT]):
        return html.unescape(found[1].decode("utf-8", "replace")).strip()
    text = body.removeprefix(BYTE_ORDER_MARK)
    if not text or len(text) > _LONGEST_PLAIN or text.lstrip()[:1] in b'<{["':
        return ""
    try:
        return text.decode("utf-8").strip()
    except UnicodeDecodeError:
        return ""
