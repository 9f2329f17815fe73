"""Images behind links: some APIs answer with addresses. Default-deny; decides and builds, sends nothing.

An address is text that the provider made up. It is followed once, without key, cookie or redirect, and only to a host
that the public plan names, so that a provider cannot make the client talk to anybody else.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

from pcevolve.egress.transport import Outgoing, fixed_headers, is_loopback
from pcevolve.errors import ProviderReplyError, UnlistedHostError
from pcevolve.public.plan import PublicPlan
from pcevolve_shared import limits

_PORTS: Final = {"https": 443, "http": 80}


def follow(plan: PublicPlan, link: str) -> Outgoing:
    """The request for what lies behind a link.

    Raises:
        ProviderReplyError: The link is not a plain https address.
        UnlistedHostError: It leads to a host that the plan does not name.
    """
    parts = _parse(link)
    host, port = parts.hostname or "", parts.port
    named = host if port in {None, _PORTS[parts.scheme]} else f"{host}:{port}"
    if parts.scheme == "http" and not _is_local(plan):
        raise ProviderReplyError(f"the API's images lie at {named}, but not behind https")
    if named not in plan.image_hosts:
        raise UnlistedHostError(
            f"the API's images lie at {named}, from where this run fetches nothing: "
            f"if you trust that host, start a new run with --set provider.image_hosts={named}"
        )
    return Outgoing("GET", link, tuple(fixed_headers(link, "image/*")), b"")


def of_bearable_size(image: bytes) -> bytes:
    """Pass on what a link led to.

    Raises:
        ProviderReplyError: It is larger than any image of the wire contract.
    """
    if len(image) > limits.MAX_IMAGE_BYTES:
        raise ProviderReplyError(f"an image of the API has more than {limits.MAX_IMAGE_BYTES >> 20} MiB")
    return image


def _parse(link: str) -> SplitResult:
    """A link without anything that a library might read in two ways."""
    try:
        parts = urlsplit(link)
        odd = parts.username is not None or parts.password is not None or parts.fragment or not parts.hostname
        known = parts.scheme in _PORTS and (parts.port is None or parts.port > 0)
    except ValueError:
        odd, known = True, False
    printable = link.isascii() and link.isprintable() and not set(link) & set(' "<>\\^`{|}')
    if odd or not known or not printable:
        raise ProviderReplyError("the API answered with a link that is no plain https address")
    return parts


def _is_local(plan: PublicPlan) -> bool:
    api = urlsplit(plan.api)
    return api.scheme == "http" and is_loopback(api.hostname or "")
