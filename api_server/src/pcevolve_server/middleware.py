"""What happens to every request before and after a route: name it, know the caller, bound it, log it.

Plain ASGI, so that a body is refused while it arrives and never parsed first.
"""

import hmac
import logging
import re
import time
import uuid
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pcevolve_server.errors import AuthenticationError, RequestError, TooLargeError
from pcevolve_server.metrics import Metrics
from pcevolve_shared import limits, wire

logger = logging.getLogger(__name__)

_OPEN_ROUTES: Final = {wire.HEALTH, wire.READY, "/docs", "/openapi.json"}
_REQUEST_ID: Final = re.compile(wire.REQUEST_ID_PATTERN.removesuffix("$"))


def error_response(request_id: str, error: RequestError) -> Response:
    """Return ``error`` in the contract's shape."""
    body = wire.ErrorBody(
        type=error.type,
        code=error.code,
        message=error.message[: limits.MAX_MESSAGE_CHARS],
        request_id=request_id,
    )
    response = Response(
        wire.ErrorResponse(error=body).model_dump_json(), error.status, media_type="application/json"
    )
    if error.retry_after_seconds is not None:
        response.headers["Retry-After"] = str(error.retry_after_seconds)
    if error.status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooLargeError):
        # The rest of the body is still on its way and nobody will read it.
        response.headers["Connection"] = "close"
    response.headers[wire.REQUEST_ID_HEADER] = request_id
    return response


def request_id_of(request: Request) -> str:
    """Return the id that :class:`Observed` gave the request."""
    identity: str = request.state.request_id
    return identity


@dataclass(frozen=True)
class Observed:
    """Gives every request an id, and leaves one log line and some counts when it is over."""

    app: ASGIApp
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope).get(wire.REQUEST_ID_HEADER, "")
        identity = asked if _REQUEST_ID.fullmatch(asked) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = identity
        seen = {"status": 500, "bytes_out": 0}

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                MutableHeaders(scope=message)[wire.REQUEST_ID_HEADER] = identity
            elif message["type"] == "http.response.body":
                seen["bytes_out"] += len(message.get("body", b""))
            await send(message)

        started = time.monotonic()
        try:
            await self.app(scope, receive, watched)
        finally:
            self._record(scope, identity, seen, time.monotonic() - started)

    def _record(self, scope: Scope, identity: str, seen: dict[str, int], seconds: float) -> None:
        # The template, never the path itself: a path is text that a caller wrote.
        route = getattr(scope.get("route"), "path", "unmatched")
        self.metrics.requests.labels(route, str(seen["status"])).inc()
        self.metrics.latency.labels(route).observe(seconds)
        logger.info(
            "request",
            extra={
                "request_id": identity,
                "method": scope["method"] if scope["method"] in {"GET", "POST"} else "other",
                "route": route,
                "seconds": round(seconds, 4),
                "bytes_in": scope["state"].get("bytes_in", 0),
                **seen,
            },
        )


@dataclass(frozen=True)
class Authenticated:
    """Lets nobody in without the key, before a byte of the body is read; an empty key lets everybody in."""

    app: ASGIApp
    api_key: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"] in _OPEN_ROUTES or self._admits(Headers(scope=scope)):
            await self.app(scope, receive, send)
            return
        error = AuthenticationError("missing or wrong API key: send it as 'Authorization: Bearer KEY'")
        await error_response(scope["state"]["request_id"], error)(scope, receive, send)

    def _admits(self, headers: Headers) -> bool:
        if not self.api_key:
            return True
        scheme, _, key = headers.get("Authorization", "").partition(" ")
        # Constant time, so that the time to refuse does not spell the key out.
        same = hmac.compare_digest(key.strip().encode("latin-1", "replace"), self.api_key.encode("ascii"))
        return same and scheme.lower() == "bearer"


@dataclass(frozen=True)
class Bounded:
    """Reads the body up to a limit and hands it on whole, or answers 413 at the first byte too many."""

    app: ASGIApp
    max_bytes: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            body = await self._read(scope, receive)
        except TooLargeError as error:
            await error_response(scope["state"]["request_id"], error)(scope, receive, send)
            return
        if body is None:
            return
        scope["state"]["bytes_in"] = len(body)
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return pending.pop() if pending else await receive()

        await self.app(scope, replayed, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body, or ``None`` if the caller hung up in the middle."""
        error = TooLargeError(f"the request body is longer than {self.max_bytes} bytes")
        declared = Headers(scope=scope).get("Content-Length", "0")
        if declared.isdecimal() and int(declared[:20]) > self.max_bytes:
            raise error
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size, more = size + len(parts[-1]), message.get("more_body", False)
            if size > self.max_bytes:
                raise error
        return b"".join(parts)
