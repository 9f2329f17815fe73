"""Check an address, a key and a proxy before use, with the standard library alone."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from pcevolve.errors import UsageError

_OPERATION: Final = re.compile(
    r"/(?:images/(?:generations|edits|variations)|chat/completions|completions|v\d+/models"
    r"|(?:txt|img)2img|(?:text|image)-to-image|generate/\w+)/?$"
)
"""Last parts of the paths in APIs' documentation. A dialect appends these parts itself."""


def require_address(url: str, option: str = "--api", key_option: str = "--api-key-file") -> None:
    """Refuse an address that is not plain http(s). The ``UsageError`` names the options of address and key."""
    plain = f"{option} must be scheme, host, port and path only"
    if not (url.isascii() and url.isprintable()) or set(url) & set(" \\?#"):
        raise UsageError(f"{plain}, in plain letters: give the key with {key_option}")
    try:
        parts = urlsplit(url)
        reachable = parts.port != 0 and not parts.netloc.endswith(":")
    except ValueError:  # a port that is no number or too large, half a bracket
        reachable = False
    if not reachable or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"{option} '{url}' is not an address such as http://127.0.0.1:8000")
    if found := _OPERATION.search(parts.path):
        raise UsageError(
            f"{option} '{url}' is the address of one operation: give only what comes before {found[0]}, "
            "which is added"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(f"{plain}: give the key with {key_option}")


def require_key(key: str | None, scheme: str) -> None:
    """Refuse a key with characters or a form that its scheme does not allow (``UsageError``). None means no key."""
    if key is None:
        return
    if not key:
        raise UsageError(
            "the API key is empty: is the key file the right one? An API without keys needs no file"
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError("the API key has characters that cannot be sent: is the key file the right one?")
    if scheme == "Basic" and ":" not in key:
        raise UsageError("this API's key is user:password")


def require_proxy(url: str, proxy: str | None) -> None:
    """Refuse a proxy that could read or change the traffic, or that needs a secret (``UsageError``)."""
    if proxy is None:
        return
    parts = urlsplit(proxy)
    plain = parts.scheme in {"http", "https"} and parts.hostname and parts.path in {"", "/"}
    if not plain or parts.username or parts.query or parts.fragment:
        raise UsageError("provider.proxy must be scheme, host and port only, such as http://proxy:3128")
    # A proxy for http could read and change all traffic. A proxy for https sees only the host's name.
    if urlsplit(url).scheme != "https":
        raise UsageError(
            "provider.proxy is used only for https, which the proxy cannot read: give --api https://..."
        )


def is_nearby(base_url: str) -> bool:
    """Return True if an address is on this machine or a private network. Only localhost is recognised by name."""
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Return True if a host is ``localhost`` or a loopback address. No name is resolved."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
