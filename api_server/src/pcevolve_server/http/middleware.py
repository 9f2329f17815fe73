"""Middleware of every request: gives it an id, identifies the caller, and logs the request.

It is plain ASGI, so that a request can be refused before its body is read.
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

from pcevolve_server.errors import AuthenticationError, HostError, OriginError, RequestError
from pcevolve_server.http import reference
from pcevolve_server.metrics import Metrics
from pcevolve_server.settings import Key, is_loopback
from pcevolve_server.tracing import trace_request
from pcevolve_shared import limits, wire

logger = logging.getLogger(__name__)

OPEN_ROUTES: Final = {wire.HEALTH, wire.READY, *reference.ROUTES}
_REQUEST_ID: Final = re.compile(wire.REQUEST_ID_PATTERN.removesuffix("$"))


def error_response(request_id: str, error: RequestError) -> Response:
    """Return ``error`` in the contract's format."""
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
    response.headers[wire.REQUEST_ID_HEADER] = request_id
    return response


def raw_response(error: RequestError) -> bytes:
    """Return ``error`` as the bytes of a whole HTTP/1.1 answer that ends its connection."""
    response = error_response(uuid.uuid4().hex, error)
    response.headers["Connection"] = "close"
    status = HTTPStatus(response.status_code)
    lines = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode("ascii"))]
    lines += [name + b": " + value for name, value in response.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])


def request_id_of(request: Request) -> str:
    """Return the request's id, which :class:`Observed` has set."""
    identity: str = request.state.request_id
    return identity


def caller_of(request: Request) -> str:
    """Return the name of the request's key. It is empty if no key is required."""
    name: str = getattr(request.state, "caller", "")
    return name


def announces_body(scope: Scope) -> bool:
    """True if a request's head announces a body."""
    headers = Headers(scope=scope)
    return "Transfer-Encoding" in headers or headers.get("Content-Length", "0") != "0"


@dataclass(frozen=True)
class Observed:
    """Gives every request an id, and writes one log line and some counts at its end."""

    app: ASGIApp
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope).get(wire.REQUEST_ID_HEADER, "")
        # Only an id of plain letters is accepted, because the id goes into logs and headers.
        identity = asked if _REQUEST_ID.fullmatch(asked) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = identity
        bytes_out = 0
        unread = announces_body(scope)

        async def read_watched() -> Message:
            nonlocal unread
            message = await receive()
            unread = unread and message.get("more_body", False)
            return message

        async def watch(message: Message) -> None:
            nonlocal bytes_out
            if message["type"] == "http.response.start":
                scope["state"]["status"] = message["status"]
                MutableHeaders(scope=message)[wire.REQUEST_ID_HEADER] = identity
                if unread:
                    # The rest of the body may still be on its way. No part of the server will read it.
                    MutableHeaders(scope=message)["Connection"] = "close"
            elif message["type"] == "http.response.body":
                bytes_out += len(message.get("body", b""))
            await send(message)

        started = time.monotonic()
        try:
            with trace_request(scope):
                await self.app(scope, read_watched, watch)
        finally:
            self._record(scope, identity, bytes_out, time.monotonic() - started)

    def _record(self, scope: Scope, identity: str, bytes_out: int, seconds: float) -> None:
        # The route's template is recorded, never the path itself, because a path is a caller's text.
        route = getattr(scope.get("route"), "path", "unmatched")
        # The status of the answer, or of an event that ended a stream.
        status = scope["state"].get("status", 500)
        self.metrics.requests.labels(route, str(status)).inc()
        self.metrics.latency.labels(route).observe(seconds)
        logger.info(
            "request",
            extra={
                "request_id": identity,
                "method": scope["method"] if scope["method"] in {"GET", "POST"} else "other",
                "route": route,
                "seconds": round(seconds, 4),
                "bytes_in": scope["state"].get("bytes_in", 0),
                "bytes_out": bytes_out,
                "status": status,
            },
        )


def _closing(send: Send) -> Send:
    """Return a sender whose answer is the connection's last: callers without the key must not hold connections."""

    async def send_last(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["Connection"] = "close"
        await send(message)

    return send_last


@dataclass(frozen=True)
class Authenticated:
    """Admits only callers with the key, before a byte of the body is read."""

    app: ASGIApp
    keys: tuple[Key, ...]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self._caller(Headers(scope=scope)) if scope["type"] == "http" else None
        if caller is not None:
            scope["state"]["caller"] = caller
        elif scope["type"] == "http":
            send = _closing(send)
        if caller is not None or scope["type"] != "http" or scope["path"] in OPEN_ROUTES:
            await self.app(scope, receive, send)
            return
        error = AuthenticationError("missing or wrong API key: send it as 'Authorization: Bearer KEY'")
        await error_response(scope["state"]["request_id"], error)(scope, receive, send)

    def _caller(self, headers: Headers) -> str | None:
        scheme, _, sent = headers.get("Authorization", "").partition(" ")
        given = sent.strip().encode("latin-1", "replace")
        # The text is compared with every key in constant time, so that the time of a refusal does not reveal a key.
        same = [hmac.compare_digest(given, key.secret.encode("ascii")) for key in self.keys]
        names = [key.name for key, is_it in zip(self.keys, same, strict=True) if is_it]
        return names[0] if names and scheme.lower() == "bearer" else None


@dataclass(frozen=True)
class WithoutKey:
    """Serves programs on this machine, but no foreign page that is open in one of its browsers.

    A foreign page can let the browser post a form to 127.0.0.1. The post takes the model's time, although the page
    cannot read the answer. The page can also point its own name at 127.0.0.1 (DNS rebinding) and read the answer. In
    that case the Host header contains the page's name.
    """

    app: ASGIApp
    allowed: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        if error is None:
            await self.app(scope, receive, send)
            return
        await error_response(scope["state"]["request_id"], error)(scope, receive, _closing(send))

    def _refusal(self, headers: Headers) -> RequestError | None:
        host = headers.get("Host")
        # HTTP/1.0 clients need not send the header, and browsers do not use HTTP/1.0.
        if host is not None and not is_loopback(name := host_name(host)) and name not in self.allowed:
            return HostError(
                "the Host header names neither this machine nor an --allowed-host, and there is no API key"
            )
        if is_foreign(host, headers.get("Origin"), headers.get("Sec-Fetch-Site")):
            return OriginError(
                "a page of another origin may not use a server without an API key: start the server with one and"
                " send it as 'Authorization: Bearer KEY'"
            )
        return None


def host_name(header: str) -> str:
    """Return the name or address in a Host header in lower case, without port, brackets and final dot."""
    text = header.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].removesuffix(".")


_OWN = frozenset({"same-origin", "none"})
"""``Sec-Fetch-Site`` for a page of this server, and for an address that was typed."""


def is_foreign(host: str | None, origin: str | None, fetch_site: str | None) -> bool:
    """True if a browser reports that a page of another origin made the request.

    A page cannot change these headers, and programs other than browsers do not send the last two. Another port is
    another origin, and so are ``null`` and another name of the same machine.

    Args:
        host: The header ``Host``, which names this server. None: the header is missing.
        origin: The header ``Origin``, or None. Its scheme is not compared, because a proxy may do TLS for this
            server.
        fetch_site: The header ``Sec-Fetch-Site``, or None.
    """
    if fetch_site is not None and fetch_site.strip().lower() not in _OWN:
        return True
    if origin is None:
        return False
    scheme, _, place = origin.strip().lower().partition("://")
    return host is None or scheme not in {"http", "https"} or place != host.strip().lower()
