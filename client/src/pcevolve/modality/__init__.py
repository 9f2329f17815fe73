"""All that knows what an image or a text is: what they hold is read, measured and changed here, and in ``encoders``.

A kind is one class, ``images.medium.ImageMedium`` or ``texts.TextMedium``; the first says what each method promises,
the second only where texts differ. ``find_medium`` is what a room asks that need not know which of them it has; a
decoded image or text is opaque to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pcevolve.modality.images.medium import ImageMedium
    from pcevolve.modality.texts import TextMedium
    from pcevolve.public.modality import Kind

Medium: TypeAlias = "ImageMedium | TextMedium"


def find_medium(kind: Kind) -> Medium:
    """The medium of a kind."""
    # Each knows libraries that the other does without.
    if kind == "text":
        from pcevolve.modality.texts import TEXTS

        return TEXTS
    from pcevolve.modality.images.medium import IMAGES

    return IMAGES
