"""Who says in words what an image shows, for the baseline GCap: measured attributes, or a model on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pcevolve.public.media import Item

ATTRIBUTES = "attributes"
"""The captioner that needs no model."""


class Captioner(Protocol):
    """Looks at images and says what they show."""

    @property
    def name(self) -> str:
        """Who it is, for people."""
        ...

    def captions(self, images: Sequence[Item]) -> list[str]:
        """Say what each image shows, in the captioner's own words, in the images' order.

        Raises:
            ClientError: An image cannot be described.
        """
        ...


def captioner(source: str | None) -> Captioner:
    """A captioner by ``attributes``, a model's directory, or a hub's id; nothing is downloaded.

    Raises:
        ModelError: The model is not at hand.
    """
    if source in (None, ATTRIBUTES):
        from pcevolve_benchmarks.captioners.attributes import Attributes

        return Attributes()
    from pcevolve_benchmarks.captioners.model import load_captioner  # waits for torch

    return load_captioner(str(source))
