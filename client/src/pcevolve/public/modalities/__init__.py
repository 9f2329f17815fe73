"""What a run makes: images or texts, and how each is asked for. One of the two is in every public plan.

What is said and asked of both is ``making.Making``: nobody outside asks which of them it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from pydantic import Field

from pcevolve.public.modalities.images import Images
from pcevolve.public.modalities.making import Kind, Making, Said
from pcevolve.public.modalities.texts import Texts

__all__ = [
    "MODALITIES",
    "Images",
    "Kind",
    "Making",
    "Modality",
    "Said",
    "Texts",
    "images_of",
    "spoken",
    "texts_of",
]

Modality: TypeAlias = Annotated[Images | Texts, Field(discriminator="kind")]
MODALITIES: Final[Mapping[Kind, type[Making]]] = {"image": Images, "text": Texts}
"""What is known of a kind before there is a plan."""


def images_of(made: Images | Texts) -> Images:
    """How images are asked for.

    Raises:
        TypeError: It is texts that are made.
    """
    if not isinstance(made, Images):
        raise TypeError("a plan for texts has no settings of images")
    return made


def texts_of(made: Images | Texts) -> Texts:
    """How texts are asked for.

    Raises:
        TypeError: It is images that are made.
    """
    if not isinstance(made, Texts):
        raise TypeError("a plan for images has no settings of texts")
    return made


def spoken(words: str, kind: Kind) -> str:
    """What is said of images, as it is said of a kind.

    Args:
        words: Our own; what a user or a provider wrote would be changed as well.
        kind: Of what is made.
    """
    return MODALITIES[kind].spoken(words)
