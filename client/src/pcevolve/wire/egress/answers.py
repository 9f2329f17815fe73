"""Check what an answer brings: images of limited size, by the requested model, and links to named hosts.

A link is text that the provider wrote. It is followed once, without key, cookie or redirect, and only to a
host that the public plan names. A provider can therefore not direct the client elsewhere. Nothing is sent
here.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from pcevolve.errors import ProviderReplyError, UnlistedHostError
from pcevolve.public.config.addresses import is_loopback
from pcevolve.public.media import find_medium
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.egress.address import make_fixed_headers
from pcevolve.wire.egress.transport import Outgoing
from pcevolve.wire.providers.dialect import Output
from pcevolve_shared import limits

LONGEST_NAME: Final = 200
"""Largest number of characters of a model's name, as in a plan."""
_PORTS: Final = {"https": 443, "http": 80}
_HASH: Final = re.compile(r"\s*\[([0-9a-f]{6,64})\]\s*$")
"""The start of a checkpoint's digest after its name, as web UIs write it."""
_FILE: Final = re.compile(r"\.(?:safetensors|ckpt|gguf|bin|pt|pth)$")
_MOVING: Final = re.compile(r"[-@:](?:latest|preview|free|online|default)$")
"""Suffixes of names that mean the currently served version."""
_VERSION: Final = re.compile(r"[-@:]v?[0-9][0-9.\-]*$")


def follow(plan: PublicPlan, link: str) -> Outgoing:
    """Build the request that follows a link.

    Raises:
        ProviderReplyError: The link is not a plain https address.
        UnlistedHostError: The link leads to a host that the plan does not name.
    """
    parts = _parse(link)
    host, port = parts.hostname or "", parts.port
    # The port is part of the name: listing a host allows its default port, and no other service on it.
    named = host if port in {None, _PORTS[parts.scheme]} else f"{host}:{port}"
    # Plain http is allowed only for a loopback API's own machine; elsewhere anyone on the route could replace
    # images.
    if parts.scheme == "http" and not _is_local(plan):
        raise ProviderReplyError(f"the API's images are at {named}, but their links do not use https")
    if named not in plan.provider.image_hosts:
        raise UnlistedHostError(
            f"the API's images are at {named}, a host that this run may not fetch from: if you trust that "
            f"host, start a new run with --set provider.image_hosts={named}"
        )
    return Outgoing("GET", link, tuple(make_fixed_headers(link, "image/*")), b"")


def require_max_size(image: bytes) -> bytes:
    """Return an image from a link (``ProviderReplyError`` if it is larger than the wire contract allows)."""
    if len(image) > limits.MAX_IMAGE_BYTES:
        raise ProviderReplyError(f"an image from the API is larger than {limits.MAX_IMAGE_BYTES >> 20} MiB")
    return image


def check_size(plan: PublicPlan, made: Output) -> Output:
    """Return an image or text of about the requested size; otherwise the reason for rejecting it.

    An output that cannot be decoded passes too. The selection uses it only if its class has no decodable output.
    """
    if isinstance(made, bytes) and (fault := find_medium(plan.modality.kind).describe_oversize(made, plan)):
        return ProviderReplyError(f"the API sent {fault}")
    return made


def is_same_model(asked: str, answered: str) -> bool:
    """True if two names may mean one model.

    The names may differ in leading folders and owners, in a file's suffix, in a digest that one of them
    lacks, and in a version that one of them leaves open: ``gpt-4o`` matches ``gpt-4o-2024-08-06``. A name
    longer than any in a plan never matches.
    """
    # First, because the patterns take quadratic time, and the provider chose this text.
    if len(answered) > LONGEST_NAME:
        return False
    one, other = asked.lower(), answered.lower()
    hashes = [found[1] for found in map(_HASH.search, (one, other)) if found]
    if len(hashes) == len((one, other)) and not hashes[0].startswith(hashes[1]):
        # Digests of one checkpoint may have different lengths, so one may be a prefix of the other.
        return hashes[1].startswith(hashes[0])
    one, other = _bare(one), _bare(other)
    fixed = _MOVING.sub("", one), _MOVING.sub("", other)
    if fixed[0] == fixed[1]:
        return True
    is_open = fixed != (one, other) or not (_VERSION.search(one) and _VERSION.search(other))
    return is_open and _VERSION.sub("", fixed[0]) == _VERSION.sub("", fixed[1])


def _bare(name: str) -> str:
    return _FILE.sub("", re.split(r"[/\\]", _HASH.sub("", name))[-1])


def _parse(link: str) -> SplitResult:
    """Parse a link, and refuse any form that libraries might parse differently."""
    try:
        parts = urlsplit(link)
        plain = parts.username is None and parts.password is None and not parts.fragment and parts.hostname
        known = parts.scheme in _PORTS and (parts.port is None or parts.port > 0)
    except ValueError:
        plain = known = False
    # Refused, not escaped: two libraries that escape differently would contact two different hosts.
    printable = link.isascii() and link.isprintable() and not set(link) & set(' "<>\\^`{|}')
    if not (plain and known and printable):
        raise ProviderReplyError("the API answered with a link that is not a plain https address")
    return parts


def _is_local(plan: PublicPlan) -> bool:
    api = urlsplit(plan.provider.api)
    return api.scheme == "http" and is_loopback(api.hostname or "")
