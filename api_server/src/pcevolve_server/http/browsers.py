"""Detect requests made by somebody else's page, which a browser on this machine has open.

Any page may have a browser post a form to 127.0.0.1. It cannot read the answer, but the work is done all the same
(cross-site request forgery), so a listener that asks for no key has to refuse it.
"""

from __future__ import annotations

_OWN = frozenset({"same-origin", "none"})
"""What ``Sec-Fetch-Site`` says of a page of the listener's own, and of a person who typed the address."""


def is_foreign(host: str | None, origin: str | None, fetch_site: str | None) -> bool:
    """Return whether a browser says that a request was made by a page of another origin.

    No page can change what its browser writes into these headers, and programs that are no browsers send neither
    of the last two. Another port is another origin, and so are ``null`` and another name of the same machine.

    Args:
        host: The header ``Host``, which names the listener; None where it is missing, and so on.
        origin: The header ``Origin``. Its scheme is not compared, for a proxy may speak TLS on the listener's behalf.
        fetch_site: The header ``Sec-Fetch-Site``.
    """
    if fetch_site is not None and fetch_site.strip().lower() not in _OWN:
        return True
    if origin is None:
        return False
    scheme, _, place = origin.strip().lower().partition("://")
    return host is None or scheme not in {"http", "https"} or place != host.strip().lower()
