"""Requests and answers as exact bytes, and ``Transport``, the interface to the network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import urlsplit

from pcevolve.public.transcript.records import FailureReason, Header

HIDDEN = "(hidden)"
KEY_HEADERS: Final = ("Authorization", "api-key")
ADVICE: Final[dict[FailureReason, str]] = {
    "the certificate is not trusted": "if you run the certificate authority of the API, start a new run "
    "with --set provider.ca_file=FILE, a PEM file with the authority's "
    "certificate (for a self-signed certificate, the certificate "
    "itself)",
    "the certificate is another host's": "use the host name in the certificate for --api; otherwise the "
    "server may not be the API that you mean",
    "the certificate is out of date": "the certificate has expired or is not valid yet: check this "
    "machine's clock, or ask the provider to renew the certificate",
    "that port speaks no TLS": "the port uses plain http: give --api http://..., or the port for https",
}
"""Remedies for failures that no retry fixes."""


class ConnectionTroubleError(Exception):
    """The request or its answer was lost; sending the same bytes again may help, unless ``ADVICE`` has a remedy."""

    def __init__(self, reason: FailureReason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Outgoing:
    """A complete request, header by header, as sent."""

    method: str
    url: str
    headers: tuple[Header, ...]
    body: bytes

    @property
    def target(self) -> str:
        """The request line's path and query."""
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    @property
    def wire_bytes(self) -> int:
        """Length in bytes as HTTP/1.1: request line, headers, body."""
        line = f"{self.method} {self.target} HTTP/1.1\r\n\r\n"
        return len(line) + _header_bytes(self.headers) + len(self.body)

    def recorded_headers(self) -> tuple[Header, ...]:
        """The headers without the key."""
        return tuple((name, HIDDEN if name in KEY_HEADERS else value) for name, value in self.headers)


@dataclass(frozen=True)
class Incoming:
    status: int
    headers: tuple[Header, ...]
    body: bytes = field(repr=False)

    @property
    def wire_bytes(self) -> int:
        """Length in bytes as HTTP/1.1: status line without its phrase, headers, body."""
        return len("HTTP/1.1 200 \r\n\r\n") + _header_bytes(self.headers) + len(self.body)

    def header(self, name: str) -> str | None:
        """Return the first value of a header."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class Transport(Protocol):
    """The only seam to the network: the gate sends all requests through it."""

    def send(self, request: Outgoing) -> Incoming:
        """Send exactly this request, and wait for the answer.

        Raises:
            ConnectionTroubleError: No complete answer came.
            ProviderReplyError: The answer is larger than an honest answer can be.
        """
        ...

    def close(self) -> None:
        """Close every connection to any host; nothing can be sent afterwards."""
        ...


def _header_bytes(headers: tuple[Header, ...]) -> int:
    return sum(len(name) + len(value) + 4 for name, value in headers)
