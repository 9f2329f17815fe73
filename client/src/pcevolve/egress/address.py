"""Rules for an API's address and key; checked before anything is loaded that could reach it."""

from __future__ import annotations

from urllib.parse import urlsplit

from pcevolve.errors import UsageError


def require_address(url: str) -> None:
    """Refuse what is not a plain http(s) address.

    Raises:
        UsageError: Not an address, or one that carries a user name, a query or a fragment.
    """
    if not (url.isascii() and url.isprintable()) or set(url) & set(" \\?#"):
        raise UsageError(
            "--api must be scheme, host, port and path only, in plain letters: give the key with --api-key-file"
        )
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--api '{url}' is not an address such as http://127.0.0.1:8000")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError("--api must be scheme, host, port and path only: give the key with --api-key-file")


def require_key(key: str | None, scheme: str) -> None:
    """Refuse a key that cannot be sent.

    Args:
        key: None: the API wants none.
        scheme: How the API takes it: ``Bearer`` or ``Basic``.

    Raises:
        UsageError: It has odd characters, or is not what the scheme wants.
    """
    if key is None:
        return
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError("the API key has characters that cannot be sent: is the key file the right one?")
    if scheme == "Basic" and ":" not in key:
        raise UsageError("this API's key is user:password")


def require_proxy(url: str, proxy: str | None) -> None:
    """Refuse a proxy that could read or change what passes, or that needs a secret of its own.

    Raises:
        UsageError: It is no plain http(s) address, or the API's is not https: then the proxy would see all of it.
    """
    if proxy is None:
        return
    parts = urlsplit(proxy)
    plain = parts.scheme in {"http", "https"} and parts.hostname and parts.path in {"", "/"}
    if not plain or parts.username or parts.query or parts.fragment:
        raise UsageError("provider.proxy must be scheme, host and port only, such as http://proxy:3128")
    if urlsplit(url).scheme != "https":
        raise UsageError("provider.proxy carries https alone, which it cannot read: give --api https://...")
