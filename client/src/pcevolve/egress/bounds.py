"""Size limits of answers, which hold before anything is parsed, stored or decoded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from pcevolve.errors import ProviderReplyError
from pcevolve.modality.media import medium
from pcevolve.public.plan import PublicPlan
from pcevolve_shared import images, limits

_WRITES: Final = "/chat/completions"
"""How the path of a request ends that is answered with texts."""
MAX_TEXT_BYTES: Final = 2**20
"""Of an answer without its images, and of any answer that is no success: two bytes of JSON may become 300 in memory."""
_LONG: Final = re.compile(rb'"(?:data:[a-z]+/[a-z0-9.+-]+;base64,)?[A-Za-z0-9+/\\]{64,}={0,2}"')


def most_bytes(target: str, success: bool) -> int:
    """So long an answer may be, as it comes: where nothing but text is asked for, or told, no image makes it long.

    Args:
        target: Path of the request.
        success: Whether it is what was asked for.
    """
    return limits.MAX_RESPONSE_BYTES if success and not target.endswith(_WRITES) else MAX_TEXT_BYTES


def bounded(parts: Iterable[bytes], most: int) -> bytes:
    """Join what arrives.

    Raises:
        ProviderReplyError: It is longer than ``most`` bytes.
    """
    kept: list[bytes] = []
    size = 0
    for part in parts:
        size += len(part)
        if size > most:
            raise ProviderReplyError(f"the API's answer is longer than {most >> 20} MiB")
        kept.append(part)
    return b"".join(kept)


def mostly_images(body: bytes) -> bytes:
    """Pass on a successful answer that holds at most ``MAX_TEXT_BYTES`` beside its images.

    Raises:
        ProviderReplyError: There is too much beside them: a parser would need many times its length.
    """
    if len(body) > MAX_TEXT_BYTES and not _is_image(body):
        held = sum(len(match[0]) for match in islice(_LONG.finditer(body), limits.MAX_BATCH))
        if len(body) - held > MAX_TEXT_BYTES:
            raise ProviderReplyError(
                f"the API's answer is longer than {MAX_TEXT_BYTES >> 20} MiB without its images"
            )
    return body


def of_asked_size(plan: PublicPlan, made: Sequence[bytes]) -> list[bytes]:
    """Pass on images or texts that are not much larger than what was asked for.

    What is no image or text at all passes too: the judge gives it the lowest utility.

    Raises:
        ProviderReplyError: One would take many times the memory and time that the owner planned for.
    """
    oversized = medium(plan.modality.kind).oversized
    for each in made:
        if fault := oversized(each, plan):
            raise ProviderReplyError(f"the API sent {fault}")
    return list(made)


def _is_image(body: bytes) -> bool:
    try:
        images.media_type(body)
    except images.ImageError:
        return False
    return True
