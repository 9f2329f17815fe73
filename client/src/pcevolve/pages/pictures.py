"""Pictures that stand in a page itself."""

from __future__ import annotations

import base64

from pcevolve.modality.images.appearance import Appearance
from pcevolve.modality.images.thumbnails import thumbnail


def data_uri(jpeg: bytes) -> str:
    """A picture as the address of itself."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")


def picture(data: bytes, wanted: Appearance | None = None) -> str | None:
    """A small picture of received bytes, as the address of itself.

    Args:
        data: What a provider sent.
        wanted: The appearance that it is given before; None for none.

    Returns:
        None for what is not an image within the wire's limits.
    """
    small = thumbnail(data, wanted)
    return None if small is None else data_uri(small)
