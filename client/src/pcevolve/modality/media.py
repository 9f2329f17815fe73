"""The kinds of data that there are."""

from __future__ import annotations

from pcevolve.modality.medium import Medium
from pcevolve.public.modality import Kind


def medium(kind: Kind) -> Medium:
    """The medium of a kind."""
    # Each knows libraries that the other does without.
    if kind == "text":
        from pcevolve.modality.texts.medium import TEXTS

        return TEXTS
    from pcevolve.modality.images.medium import IMAGES

    return IMAGES
