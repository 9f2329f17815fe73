"""The only sockets of the client: bytes out, bytes in, and a deadline."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit
from weakref import WeakSet

import httpx

from pcevolve.egress.address import require_address, require_key, require_proxy
from pcevolve.egress.bounds import bounded, most_bytes, mostly_images
from pcevolve.errors import EgressError, UsageError
from pcevolve.providers.dialect import Scheme, WireRequest
from pcevolve.public.answers import is_success
from pcevolve.public.fields import IN_PROCESS
from pcevolve.transcript.records import FailureReason, Header
from pcevolve_shared.reading import read_file

_VERSION: Final = re.compile(r"v\d+[a-z]*")
_OPENED = ("connect_tcp.complete", "start_tls.complete")


class Deadline:
    """Cuts connections that are still busy when time is up; whatever blocks on them then ends."""

    def __init__(self) -> None:
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self.passed = self.running = False

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Give what happens inside this long; ``passed`` says afterwards whether it was too short."""
        self.passed, self.running = False, True
        timer = threading.Timer(seconds, self.cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self.running = False

    def trace(self, event: str, given: dict[str, Any]) -> None:
        """Httpx's ``trace`` extension: take note of each connection that is made."""
        if event.endswith(_OPENED):
            self._sockets.add(given["return_value"].get_extra_info("socket"))
            if self.passed:
                self.cut()

    def cut(self) -> None:
        """End every connection now; whatever blocks on one then ends."""
        self.passed = True
        for each in list(self._sockets):
            with suppress(OSError):  # closed already
                socket.socket.shutdown(each, socket.SHUT_RDWR)  # TLS would take its layer off first


CONNECT_SECONDS = 10.0
_LARGEST_FILE: Final = 2**20
_NO_TLS: Final = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"}
"""Reasons by which OpenSSL says that what came back was no TLS."""
_TOO_LONG: Final = "the answer took too long"
HIDDEN = "(hidden)"
SHORTEST_SECRET = 8
"""Characters; what is shorter occurs anywhere by chance."""


ADVICE: Final[dict[FailureReason, str]] = {
    "the certificate is not trusted": "if the API's authority is your own, start a new run with --set "
    "provider.ca_file=FILE, a PEM file with its certificate; a self-signed certificate is its own authority",
    "that port speaks no TLS": "it speaks http: give --api http://..., or the port where it speaks https",
}
"""How to mend what no further attempt changes."""


class ConnectionTroubleError(Exception):
    """The request or its answer got lost; sending the same bytes again may help, unless ``ADVICE`` knows better."""

    def __init__(self, reason: FailureReason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Outgoing:
    """A request in full, header by header, as it will be on the wire."""

    method: str
    url: str
    headers: tuple[Header, ...]
    body: bytes

    @property
    def target(self) -> str:
        """The request line's path and query, character by character."""
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    @property
    def wire_bytes(self) -> int:
        """Length as HTTP/1.1: request line, headers, body."""
        line = f"{self.method} {self.target} HTTP/1.1\r\n\r\n"
        return len(line) + _header_bytes(self.headers) + len(self.body)

    def recorded_headers(self) -> tuple[Header, ...]:
        """The headers without the key."""
        return tuple((name, HIDDEN if name == "Authorization" else value) for name, value in self.headers)


@dataclass(frozen=True)
class Incoming:
    """An answer, whatever its status."""

    status: int
    headers: tuple[Header, ...]
    body: bytes = field(repr=False)

    @property
    def wire_bytes(self) -> int:
        """Length as HTTP/1.1: status line without its phrase, headers, body."""
        return len("HTTP/1.1 200 \r\n\r\n") + _header_bytes(self.headers) + len(self.body)

    def header(self, name: str) -> str | None:
        """First value of a header."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class Transport(Protocol):
    """The seam to the network, and the only one: the gate hands requests over here."""

    def send(self, request: Outgoing) -> Incoming:
        """Send exactly this and wait for the answer.

        Raises:
            ConnectionTroubleError: No complete answer came.
            ProviderReplyError: The answer is larger than any honest one.
        """
        ...

    def close(self) -> None:
        """Close every connection, to whatever host; nothing can be sent afterwards."""
        ...


@dataclass(frozen=True)
class Route:
    """How connections get to an API.

    Attributes:
        ca_file: A PEM file whose certificates alone are trusted; None for the usual authorities.
        proxy: Address of a proxy that carries them; None where they are direct.
    """

    ca_file: Path | None = None
    proxy: str | None = None

    @property
    def authority(self) -> str | None:
        """SHA-256 of the file; None where there is none.

        Raises:
            UsageError: It cannot be read.
        """
        return None if self.ca_file is None else hashlib.sha256(_certificates(self.ca_file)).hexdigest()

    def transport(self) -> httpx.HTTPTransport:
        """Open connections of this route, which take nothing from the environment.

        Raises:
            UsageError: The file holds no certificate.
        """
        trusted = authorities() if self.ca_file is None else _trust(self.ca_file)
        return httpx.HTTPTransport(verify=trusted, retries=0, trust_env=False, proxy=self.proxy)


def _certificates(path: Path) -> bytes:
    try:
        return read_file(path, _LARGEST_FILE)
    except OSError as error:
        raise UsageError(f"provider.ca_file {path} cannot be read: {error.strerror}") from error


def _trust(path: Path) -> ssl.SSLContext:
    """Trust the certificates of a file, and no others."""
    try:
        return ssl.create_default_context(cadata=_certificates(path).decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(
            f"provider.ca_file {path} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"
        ) from error


@dataclass(frozen=True)
class Address:
    """The one place where requests go, the way there, and the key that opens it.

    Attributes:
        base_url: Scheme, host, port and path.
        key: Opens it; None where there is none.
        scheme: How the key is shown.
        greets: Whether a run begins by asking for the models.
        route: The way there.
    """

    base_url: str
    key: str | None = field(default=None, repr=False)
    scheme: Scheme = "Bearer"
    greets: bool = True
    route: Route = Route()

    def __post_init__(self) -> None:
        """Refuse what is not a plain http(s) address, and keys that cannot be sent to it.

        Raises:
            UsageError: As ``require_address``, ``require_key`` and ``require_proxy``.
        """
        require_address(self.base_url)
        require_key(self.key, self.scheme)
        require_proxy(self.base_url, self.route.proxy)

    @property
    def is_nearby(self) -> bool:
        """True if the API runs on this machine or at a private address; no name but localhost's is looked up."""
        if self.base_url == IN_PROCESS:
            return True
        host = urlsplit(self.base_url).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_private
        except ValueError:
            return False

    def outgoing(self, request: WireRequest) -> Outgoing:
        """Dress a request in the fixed headers: no library's name, no host's, no user's."""
        url = join(self.base_url, request.path)
        headers = fixed_headers(url, request.accept)
        if self.key is not None:
            headers.append(("Authorization", f"{self.scheme} {self._shown}"))
        if request.body:
            headers += [("Content-Type", request.content_type), ("Content-Length", str(len(request.body)))]
        return Outgoing(request.method, url, tuple(headers), request.body)

    def revealed_by(self, answer: Incoming) -> bool:
        """True if an answer repeats the key, so that keeping it would be keeping the key."""
        if self.key is None or len(self.key) < SHORTEST_SECRET:
            return False
        headers = "\n".join(value for _, value in answer.headers)
        forms = {self.key, self._shown}
        return any(each in headers or each.encode() in answer.body for each in forms)

    @property
    def _shown(self) -> str:
        """The key as the scheme spells it."""
        key = self.key or ""
        return base64.b64encode(key.encode()).decode() if self.scheme == "Basic" else key


def join(base_url: str, path: str) -> str:
    """The address of a path below an API's; where its own path ends in a version, as ``/v1``, that one counts."""
    base, (_, first, *rest) = base_url.rstrip("/"), path.split("/")
    last = urlsplit(base).path.rpartition("/")[2]
    versioned = _VERSION.fullmatch(last) and _VERSION.fullmatch(first)
    return "/".join([base, *rest]) if versioned else base + path


def fixed_headers(url: str, accept: str) -> list[Header]:
    """Return the headers that every request has; they name no library, no host and no user."""
    return [
        ("Host", urlsplit(url).netloc),
        ("User-Agent", "pcevolve"),
        ("Accept", accept),
        ("Accept-Encoding", "identity"),
    ]


def is_loopback(host: str) -> bool:
    """True if a host is this machine, by its literal name; nothing is looked up."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@cache
def authorities() -> ssl.SSLContext:
    """Whom a server's certificate must come from: httpx's own choice, whatever the environment says; read once."""
    return httpx.create_ssl_context(trust_env=False)


@dataclass(frozen=True)
class _Connections:
    """Those over which one request at a time goes, and the last moment of what is waited for."""

    http: httpx.HTTPTransport
    deadline: Deadline = field(default_factory=Deadline)


class HttpTransport:
    """The real one, on httpx's bare transport: it adds nothing, follows nothing and remembers nothing.

    Several threads may send at once: each takes connections that no other uses, so that what is cut off takes no other
    with it.
    """

    def __init__(self, seconds: float, route: Route | None = None) -> None:
        self._seconds, self._route = seconds, route or Route()
        self._all: list[_Connections] = []
        self._idle: list[_Connections] = []
        self._closed = False

    def send(self, request: Outgoing) -> Incoming:
        """Send exactly these bytes, with nothing added, and wait for the answer.

        Raises:
            EgressError: The transport was closed.
            ConnectionTroubleError: No complete answer came in time.
            ProviderReplyError: The answer is larger than any honest one.
        """
        if self._closed:
            raise EgressError("the connections of this run were closed for good: nothing more can be sent")
        try:
            own = self._idle.pop()
        except IndexError:
            own = self._connect()
        try:
            return self._send(request, own)
        finally:
            self._idle.append(own)

    def close(self) -> None:
        """Close every connection for good, also of what is under way; to send afterwards is an error."""
        self._closed = True
        for each in self._all:
            if each.deadline.running:
                each.deadline.cut()
            each.http.close()

    def _connect(self) -> _Connections:
        """New ones."""
        own = _Connections(self._route.transport())
        self._all.append(own)
        return own

    def _send(self, request: Outgoing, own: _Connections) -> Incoming:
        with own.deadline.within(self._seconds):
            try:
                answer = _receive(own.http, self._to_send(request, own.deadline))
            except httpx.HTTPError as error:
                reason = (
                    _TOO_LONG
                    if own.deadline.passed
                    else _reason(error, by_proxy=self._route.proxy is not None)
                )
                raise ConnectionTroubleError(reason) from error
        if own.deadline.passed:  # what was cut off may look like an answer that ends with its connection
            raise ConnectionTroubleError(_TOO_LONG)
        return answer

    def _to_send(self, request: Outgoing, deadline: Deadline) -> httpx.Request:
        timeout = httpx.Timeout(self._seconds, connect=min(CONNECT_SECONDS, self._seconds))
        extensions: dict[str, Any] = {"timeout": timeout.as_dict(), "trace": deadline.trace}
        target = request.target.encode("ascii")
        if self._route.proxy is None:
            extensions["target"] = target  # httpx would spell some anew; what leaves is what is on record
        elif httpx.URL(request.url).raw_path != target:  # and asks a proxy for it too
            raise EgressError(
                f"an address of this spelling cannot be asked for through a proxy: {request.url}"
            )
        return httpx.Request(
            request.method, request.url, headers=request.headers, content=request.body, extensions=extensions
        )


def _receive(http: httpx.HTTPTransport, sending: httpx.Request) -> Incoming:
    answer = http.handle_request(sending)
    try:
        success = is_success(answer.status_code)
        body = bounded(answer.iter_raw(), most_bytes(sending.url.path, success))
    finally:
        answer.close()
    headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in answer.headers.raw)
    return Incoming(answer.status_code, headers, mostly_images(body))


def _reason(error: httpx.HTTPError, *, by_proxy: bool) -> FailureReason:
    """A short reason without addresses or payload; with a proxy, it is the proxy that cannot be reached."""
    if isinstance(error, httpx.ConnectTimeout):
        return "no connection in time"
    if isinstance(error, httpx.ProxyError):
        return "the proxy refused"
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "the certificate is not trusted"
        if isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS:
            return "that port speaks no TLS"
    if isinstance(error, httpx.ConnectError):
        return "the proxy is not there" if by_proxy else "connection refused or no such host"
    return _TOO_LONG if isinstance(error, httpx.TimeoutException) else "the connection broke"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _header_bytes(headers: tuple[Header, ...]) -> int:
    return sum(len(name) + len(value) + 4 for name, value in headers)
