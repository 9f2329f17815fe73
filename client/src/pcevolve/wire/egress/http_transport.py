"""The only sockets to a run's providers: they send exactly the given bytes, and limit answers in size and time."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

import httpx

from pcevolve.errors import EgressError, ProviderReplyError, UsageError
from pcevolve.public.answers import is_success
from pcevolve.public.transcript.records import FailureReason
from pcevolve.wire.egress.address import Route, read_certificates
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing
from pcevolve_shared import images, limits

# Time for several attempts of TCP; a reachable host answers the first.
CONNECT_SECONDS = 10.0
MAX_BYTES_BESIDE_IMAGES: Final = 2**20
"""Largest number of bytes of an answer besides its images, and of any unsuccessful answer.

The limit is low because two bytes of JSON may become 300 bytes in memory.
"""
_OPENED: Final = ("connect_tcp.complete", "start_tls.complete")
_NO_TLS: Final = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"}
"""OpenSSL's reasons for an answer that is not TLS."""
_CERTIFICATES: Final[dict[int, FailureReason]] = {
    9: "the certificate is out of date",
    10: "the certificate is out of date",
    62: "the certificate is another host's",
    64: "the certificate is another host's",
}
"""OpenSSL's codes for faults that another authority would not fix: not yet valid, expired, wrong name or address."""
# Possessive and bounded, so that an answer's content cannot make the search slower than linear.
_TOO_LONG: Final = "the answer took too long"
_WRITES: Final = "/chat/completions"
"""Suffix of the path of requests that are answered with texts."""
_LONG: Final = re.compile(rb'"(?:data:[^",]{1,100},)?[A-Za-z0-9+/_\\-]{64,}+(?:=(?:\\[nr]){0,2}){0,2}"')
"""A string that may be an image: base64 in either alphabet, escaped or in lines."""


class HttpTransport:
    """The real transport, on httpx's bare transport: it adds nothing, follows nothing and stores nothing.

    Several threads may send at once. Each has its own connections, so that cutting one request affects no
    other.
    """

    def __init__(self, seconds: float, route: Route | None = None) -> None:
        self._seconds, self._route = seconds, route or Route()
        self._all: list[_Connections] = []
        self._free: list[_Connections] = []
        self._closed = False

    def send(self, request: Outgoing) -> Incoming:
        """Send exactly these bytes, and wait for the answer.

        Raises:
            EgressError: The transport was closed.
            ConnectionTroubleError: No complete answer came in time.
            ProviderReplyError: The answer is larger than an honest answer can be.
        """
        if self._closed:
            raise EgressError("the connections of this run are closed; nothing more can be sent")
        try:
            # Connections are reused, as in every client: a new one for each request would be conspicuous and
            # slow.
            own = self._free.pop()
        except IndexError:
            own = self._connect()
        try:
            return self._send(request, own)
        finally:
            self._free.append(own)

    def close(self) -> None:
        """Close every connection for good, including those in use; sending afterwards is an error."""
        # First, so that no thread takes a connection that is about to be closed.
        self._closed = True
        for each in self._all:
            # Cut before it is closed: closing waits for a reading thread, and the cut wakes that thread.
            if each.deadline.running:
                each.deadline.cut()
            each.http.close()

    def _connect(self) -> _Connections:
        own = _Connections(_open_connections(self._route))
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
        if own.deadline.passed:  # a cut answer may look like one that ends with its connection
            raise ConnectionTroubleError(_TOO_LONG)
        return answer

    def _to_send(self, request: Outgoing, deadline: Deadline) -> httpx.Request:
        # Connecting has a shorter limit: an absent host should be reported long before the longest answer
        # would end.
        timeout = httpx.Timeout(self._seconds, connect=min(CONNECT_SECONDS, self._seconds))
        extensions: dict[str, Any] = {"timeout": timeout.as_dict(), "trace": deadline.trace}
        target = request.target.encode("ascii")
        # Without a proxy, the recorded spelling is sent unchanged. A proxy gets httpx's spelling, which must
        # be the same.
        if self._route.proxy is None:
            extensions["target"] = target  # httpx would re-encode some targets; the recorded one is sent
        elif httpx.URL(request.url).raw_path != target:  # a proxy gets the same address
            raise EgressError(f"an address in this form cannot be requested through a proxy: {request.url}")
        return httpx.Request(
            request.method, request.url, headers=request.headers, content=request.body, extensions=extensions
        )


class Deadline:
    """Cuts connections that are still busy when the time is over, which unblocks their threads."""

    def __init__(self) -> None:
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self.passed = self.running = False

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit the time of the block; ``passed`` tells afterwards whether the limit was exceeded."""
        self.passed, self.running = False, True
        # A timer besides httpx's timeouts, because these restart with every byte: a slow drip would hold a
        # run forever.
        timer = threading.Timer(seconds, self.cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self.running = False

    def trace(self, event: str, given: dict[str, Any]) -> None:
        """Register each new connection; httpx calls this as its ``trace`` extension."""
        if event.endswith(_OPENED):
            self._sockets.add(given["return_value"].get_extra_info("socket"))
            # Made after the time was over, by a retry inside the library; nothing else would cut it.
            if self.passed:
                self.cut()

    def cut(self) -> None:
        """End every connection now, which unblocks its thread."""
        self.passed = True
        # A copy, because another thread may register a connection meanwhile.
        for each in list(self._sockets):
            with suppress(OSError):  # closed already
                socket.socket.shutdown(each, socket.SHUT_RDWR)  # the TLS layer would be removed first


@dataclass(frozen=True)
class _Connections:
    """Connections for one request at a time, and the deadline of that request."""

    http: httpx.HTTPTransport
    deadline: Deadline = field(default_factory=Deadline)


def _open_connections(route: Route) -> httpx.HTTPTransport:
    """Open connections that use nothing from the environment (``UsageError`` for a file without authorities)."""
    # With a file, that file alone: a user who names an authority wants no other one to vouch for the API.
    trusted = authorities() if route.ca_file is None else _trust(route.ca_file)
    # No retries in the library, because every attempt must be recorded before it is sent.
    return httpx.HTTPTransport(verify=trusted, retries=0, trust_env=False, proxy=route.proxy)


@cache
def authorities() -> ssl.SSLContext:
    """Return the trusted authorities: httpx's default, independent of the environment; read once."""
    return httpx.create_ssl_context(trust_env=False)


def _trust(path: Path) -> ssl.SSLContext:
    """Trust the certificates of a file, and no others."""
    try:
        return ssl.create_default_context(cadata=read_certificates(path).decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(
            f"provider.ca_file {path} contains no certificate in PEM format (-----BEGIN CERTIFICATE-----)"
        ) from error


def _receive(http: httpx.HTTPTransport, sending: httpx.Request) -> Incoming:
    answer = http.handle_request(sending)
    try:
        # An error page has no image that would justify a long body.
        success = is_success(answer.status_code)
        # Raw, because decompression can make a small answer fill the memory; requests ask for no compression.
        body = join_bounded(answer.iter_raw(), max_answer_bytes(sending.url.path, success))
    finally:
        answer.close()
    # Before anything is parsed: a megabyte of brackets becomes hundreds of megabytes in memory.
    require_mostly_images(body)
    headers = tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in answer.headers.raw)
    return Incoming(answer.status_code, headers, body)


def max_answer_bytes(target: str, success: bool) -> int:
    """Return the size limit of an answer; an answer without images has no reason to be long."""
    # By path and status, because both are known before the first byte of the body.
    return limits.MAX_RESPONSE_BYTES if success and not target.endswith(_WRITES) else MAX_BYTES_BESIDE_IMAGES


def join_bounded(parts: Iterable[bytes], most: int) -> bytes:
    """Join parts as they arrive (``ProviderReplyError`` once they exceed ``most`` bytes)."""
    kept: list[bytes] = []
    size = 0
    for part in parts:
        size += len(part)
        # Checked at each part, so that at most one part too many is in memory.
        if size > most:
            raise ProviderReplyError(f"the API's answer is larger than {most >> 20} MiB")
        kept.append(part)
    return b"".join(kept)


def require_mostly_images(body: bytes) -> None:
    """Refuse an answer with more than ``MAX_BYTES_BESIDE_IMAGES`` besides its images (``ProviderReplyError``)."""
    if len(body) > MAX_BYTES_BESIDE_IMAGES and not _is_image(body):
        # At most as many strings as a batch has images; a million short strings must not all be searched.
        held = sum(len(match[0]) for match in islice(_LONG.finditer(body), limits.MAX_BATCH))
        if len(body) - held > MAX_BYTES_BESIDE_IMAGES:
            raise ProviderReplyError(
                f"the API's answer is larger than {MAX_BYTES_BESIDE_IMAGES >> 20} MiB without its images"
            )


def _is_image(body: bytes) -> bool:
    try:
        images.media_type(body)
    except images.ImageError:
        return False
    return True


def _reason(error: httpx.HTTPError, *, by_proxy: bool) -> FailureReason:
    """Return a short reason without addresses or payload; with a proxy, a failed connection is the proxy's."""
    if isinstance(error, httpx.ConnectTimeout):
        return "no connection in time"
    if isinstance(error, httpx.ProxyError):
        return "the proxy refused"
    # Before the general error, whose advice would be to check the address.
    if fault := find_tls_fault(error):
        return fault
    if isinstance(error, httpx.ConnectError):
        return "the proxy is not there" if by_proxy else "connection refused or no such host"
    return _TOO_LONG if isinstance(error, httpx.TimeoutException) else "the connection broke"


def find_tls_fault(error: httpx.HTTPError) -> FailureReason | None:
    """Return the fault of the other side's certificate, or that it uses no TLS; None for other errors."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _CERTIFICATES.get(cause.verify_code, "the certificate is not trusted")
        if isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS:
            return "that port speaks no TLS"
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        # httpx raises from OpenSSL's error, but not always explicitly.
        error = error.__cause__ or error.__context__
