"""JSON requests, bounded before a parser reads them.

The image is cut out first. The parser then gets at most 64 KiB, which take only a moment.
"""

import json
import re
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from pcevolve_server.errors import InvalidRequestError, TooLargeError
from pcevolve_shared import limits
from pcevolve_shared.reading import parse_json

# A quote after a backslash is inside a string. Any other `"image":` in a JSON text is a member's name.
_IMAGE: Final = re.compile(rb'(?<!\\)"image"[ \t\r\n]*:[ \t\r\n]*"')
# Escape sequences that encoders may use for characters of base64.
_ESCAPED: Final = (
    (rb"\/", b"/"), (rb"\u002f", b"/"), (rb"\u002F", b"/"),
    (rb"\u002b", b"+"), (rb"\u002B", b"+"), (rb"\u003d", b"="), (rb"\u003D", b"="),
)  # fmt: skip


_SHORT: Final = 4096
"""Up to this many bytes, parsing takes less time than waking a worker thread."""


class BoundedRoute(APIRoute):
    """A route that limits its JSON, and parses long JSON on a worker thread."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_bounded(request: Request) -> Response:
            body = await request.body()
            parsing = partial(parse, body)
            # Long bodies are parsed on another thread. On the event loop, 64 KiB would delay every other request.
            parsed = parsing() if len(body) <= _SHORT else await run_in_threadpool(parsing)
            return await handle(_Parsed(request.scope, request.receive, body, parsed))

        return handle_bounded


class _Parsed(Request):
    def __init__(self, scope: Scope, receive: Receive, body: bytes, parsed: Any) -> None:  # noqa: ANN401 - any JSON
        super().__init__(scope, receive)
        self._body, self._parsed = body, parsed

    async def json(self) -> Any:  # noqa: ANN401 - any JSON
        """Return the body's JSON value, parsed on arrival."""
        return self._parsed


def parse(body: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Return the value of a JSON text. Return ``None`` for an empty text.

    Raises:
        TooLargeError: The text is longer than 64 KiB apart from its image.
        InvalidRequestError: The text is not JSON.
    """
    fields, image = _cut_image(body)
    if len(fields) > limits.MAX_FIELDS_BYTES:
        raise TooLargeError(f"the body is longer than {limits.MAX_FIELDS_BYTES} bytes apart from the image")
    value = _load(fields)
    if image is not None and isinstance(value, dict) and value.get("image") == "":
        value["image"] = _text(image)
    return value


def _cut_image(body: bytes) -> tuple[bytes, bytes | None]:
    """Cut the image's text out of a long body.

    Returns:
        The body, in which the image is ``""`` if it was cut, and the text. The text is None if nothing was cut.
    """
    if len(body) <= limits.MAX_FIELDS_BYTES:
        return body, None
    # All text before the image belongs to the fields, so the image's name must begin within their limit.
    name = _IMAGE.search(body[: limits.MAX_FIELDS_BYTES])
    end = body.find(b'"', name.end()) if name else -1
    if name is None or end < 0:
        return body, None
    return body[: name.end()] + body[end:], body[name.end() : end]


def _load(fields: bytes) -> Any:  # noqa: ANN401 - any JSON
    try:
        # The text must be UTF-8. A byte-order mark is skipped.
        return parse_json(fields.decode("utf-8-sig")) if fields else None
    except UnicodeDecodeError:
        raise InvalidRequestError("the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidRequestError(
            f"the body is not JSON (at character {error.pos}, without its image)"
        ) from None
    except ValueError:
        raise InvalidRequestError("the body is not readable JSON") from None


def _text(image: bytes) -> str:
    """Return the base64 text of an image. The image's own check refuses other escapes."""
    if b"\\" in image:
        for escaped, plain in _ESCAPED:
            image = image.replace(escaped, plain)
    try:
        return image.decode("ascii")
    except UnicodeDecodeError:
        raise InvalidRequestError("image: not base64", code="invalid_image") from None
