"""Images and texts of a provider as they stand in a page itself."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from markupsafe import Markup

from pcevolve.modality.media import medium
from pcevolve.modality.medium import Look
from pcevolve.public.modalities import Kind, spoken

LONGEST = 600
"""Characters of a text that are shown."""


@dataclass(frozen=True)
class Picture:
    """What is shown of something that a provider sent; nothing, where it is nothing of the kind that was asked for.

    Attributes:
        kind: What was asked for.
        image: A small picture, as the address of itself.
        text: The beginning of a text.
    """

    kind: Kind
    image: str = ""
    text: str = ""

    def __bool__(self) -> bool:
        """Whether there is something to be shown."""
        return bool(self.image or self.text)


def data_uri(jpeg: bytes) -> str:
    """A picture as the address of itself."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")


def picture(kind: Kind, data: bytes, wanted: Look | None = None) -> Picture:
    """A small picture of received bytes, or the text that they are.

    Args:
        kind: What was asked for.
        data: What a provider sent.
        wanted: The appearance that an image is given before; None for none.
    """
    found = medium(kind).shown(data, wanted)
    return Picture(kind, image=data_uri(found.jpeg) if found.jpeg else "", text=shortened(found.text))


def shortened(text: str) -> str:
    """A text, or its beginning."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def shown(found: Picture, said: str, side: int) -> Markup:
    """A picture's HTML.

    Args:
        found: The picture.
        said: What it is, for who does not see it.
        side: Pixels of an image.
    """
    if found.image:
        tag = '<img src="{}" width="{}" height="{}" alt="{}">'
        return Markup(tag).format(found.image, side, side, said)  # noqa: S704 - the tag is ours, and all else is escaped
    if found.text:
        return Markup('<span class="said">{}</span>').format(found.text)
    fault = spoken("not an image", found.kind)
    tag = '<span class="broken" role="img" aria-label="{}: {}">{}</span>'
    return Markup(tag).format(said, fault, fault)  # noqa: S704 - likewise
