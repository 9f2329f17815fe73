"""The one address that requests are sent to, with its route and key, and checks of all three."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pcevolve.errors import UsageError
from pcevolve.public.config.addresses import (
    is_loopback,
    is_nearby,
    require_address,
    require_key,
    require_proxy,
)
from pcevolve.public.dialects import Scheme
from pcevolve.public.transcript.records import Header
from pcevolve.wire.egress.transport import Incoming, Outgoing
from pcevolve.wire.providers.dialect import WireRequest
from pcevolve_shared.reading import read_file

SHORTEST_SECRET = 8
"""Fewest characters of a key that is searched for in answers; a shorter key may occur in an answer by chance."""
_LARGEST_FILE: Final = 2**20
_VERSION: Final = re.compile(r"v\d+[a-z]*")


@dataclass(frozen=True)
class Route:
    """The route to an API: through ``proxy`` if given, and trusting the authorities of ``ca_file`` alone if given."""

    ca_file: Path | None = None
    proxy: str | None = None

    @property
    def authority(self) -> str | None:
        """SHA-256 of the file of authorities, None without one (``UsageError`` if it cannot be read)."""
        return None if self.ca_file is None else hashlib.sha256(read_certificates(self.ca_file)).hexdigest()


def read_certificates(path: Path) -> bytes:
    """Read a file of authorities (``UsageError`` if it cannot be read)."""
    try:
        return read_file(path, _LARGEST_FILE)
    except OSError as error:
        raise UsageError(f"provider.ca_file {path} cannot be read: {error.strerror}") from error


@dataclass(frozen=True)
class Address:
    """The one address of all requests, with route and key; if ``greets``, a run begins with a greeting."""

    base_url: str
    key: str | None = field(default=None, repr=False)
    scheme: Scheme = "Bearer"
    greets: bool = True
    route: Route = Route()

    def __post_init__(self) -> None:
        """Refuse an unusable address, key or proxy (``UsageError``)."""
        require_address(self.base_url)
        require_key(self.key, self.scheme)
        require_proxy(self.base_url, self.route.proxy)

    @property
    def is_nearby(self) -> bool:
        """True if the API is on this machine or at a private address; no name except localhost is resolved."""
        return is_nearby(self.base_url)

    @property
    def warning(self) -> str:
        """Return a warning if the key is sent unencrypted over a network; else an empty string."""
        parts = urlsplit(self.base_url)
        if self.key is None or parts.scheme != "http" or is_loopback(parts.hostname or ""):
            return ""
        return (
            f"WARNING: the API key is sent to {parts.netloc} over plain http. Anyone on the network path "
            "can read the key and all images. Use --api https://..., or an ssh tunnel (ssh -L)"
        )

    def outgoing(self, request: WireRequest) -> Outgoing:
        """Add the fixed headers to a request; they name no library, no host and no user."""
        url = join(self.base_url, request.path)
        headers = make_fixed_headers(url, request.accept)
        if self.key is not None:
            own = self.scheme == "api-key"
            headers.append(
                ("api-key", self.key) if own else ("Authorization", f"{self.scheme} {self._shown}")
            )
        if request.body:
            headers += [("Content-Type", request.content_type), ("Content-Length", str(len(request.body)))]
        return Outgoing(request.method, url, tuple(headers), request.body)

    def is_revealed_by(self, answer: Incoming) -> bool:
        """True if an answer repeats the key, so that storing the answer would store the key."""
        # Short keys occur by chance in base64; checking them would refuse every answer.
        if self.key is None or len(self.key) < SHORTEST_SECRET:
            return False
        headers = "\n".join(value for _, value in answer.headers)
        # Both spellings: Basic authentication sends the key in base64, and a server may echo it decoded.
        forms = {self.key, self._shown}
        return any(each in headers or _is_spelled_in(answer.body, each) for each in forms)

    @property
    def _shown(self) -> str:
        key = self.key or ""
        return base64.b64encode(key.encode()).decode() if self.scheme == "Basic" else key


def _is_spelled_in(body: bytes, word: str) -> bool:
    """True if a body contains a word, also in JSON's escaped forms: PHP escapes a slash, .NET a plus."""
    if word.encode() in body or b"\\" not in body:
        return word.encode() in body
    spelled = (rf"(?:{re.escape(each)}|\\{re.escape(each)}|\\u00(?i:{ord(each):02x}))" for each in word)
    return re.search("".join(spelled).encode(), body) is not None


def join(base_url: str, path: str) -> str:
    """Join an API's address and a path; a version in the address (``/v1beta/openai``) replaces the path's version."""
    base, (_, first, *rest) = base_url.rstrip("/"), path.split("/")
    own = any(map(_VERSION.fullmatch, urlsplit(base).path.split("/")))
    versioned = own and _VERSION.fullmatch(first)
    return "/".join([base, *rest]) if versioned else base + path


def make_fixed_headers(url: str, accept: str) -> list[Header]:
    """Return the headers of every request; they name no library, no host and no user."""
    return [
        ("Host", urlsplit(url).netloc),
        ("User-Agent", "pcevolve"),
        ("Accept", accept),
        # No compression: its length would depend on the content, and a small answer could unpack to
        # gigabytes.
        ("Accept-Encoding", "identity"),
    ]
