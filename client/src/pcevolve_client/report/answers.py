"""Finds the images in a provider's answer, whatever the dialect calls them. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from pcevolve_shared import images


def images_in(body: bytes, count: int) -> list[bytes | None] | None:
    """Read the images of a JSON answer, in order, by generic means.

    The field that occurs ``count`` times and weighs most holds the images. What it holds is not trusted to be
    images, or even base64.

    Args:
        body: A provider's answer.
        count: Images that were asked for.

    Returns:
        One entry per image, None for what is not base64; None if no field occurs ``count`` times.
    """
    found: dict[str, list[str]] = defaultdict(list)

    def collect(pairs: list[tuple[str, Any]]) -> None:
        for name, value in pairs:
            several = value if isinstance(value, list) else [value]
            found[name].extend(each for each in several if isinstance(each, str))

    try:
        json.loads(body, object_pairs_hook=collect)
    except (ValueError, RecursionError):
        return None
    fitting = [texts for texts in found.values() if len(texts) == count]
    if not fitting:
        return None
    return [_decoded(text) for text in max(fitting, key=lambda texts: sum(map(len, texts)))]


def _decoded(text: str) -> bytes | None:
    try:
        return images.from_base64(text)
    except images.ImageError:
        return None
