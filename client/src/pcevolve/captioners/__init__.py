"""Who says in words what a private image shows, for the baseline GCap. NOT PRIVATE: what they say leaves as it is.

None of them reaches a network; a chat API is asked by ``run``, through ``egress.shown``.

May import ``errors``, ``modality`` and ``public``. Imported by ``run``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pcevolve.modality.medium import Item
from pcevolve.public.captioning import Captioner


class ImageCaptioner(Protocol):
    """Looks at private images and says what they show."""

    @property
    def described(self) -> Captioner:
        """Who it is, as the plan says it."""
        ...

    def captions(self, images: Sequence[Item]) -> list[str]:
        """What each image shows, in its own words, in the images' order.

        Raises:
            ClientError: An image cannot be described.
        """
        ...
