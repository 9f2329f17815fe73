"""The kinds of data that a run makes. Each kind is a class in a separate file, with everything known about it.

The class defines the settings of requests for its kind, which a public plan embeds. It defines the traits in which
the client treats kinds differently, and the nouns for sentences about a run. It loads its medium (``media``), which
needs libraries to decode an image or a text. Code outside this package reads traits instead of comparing kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from pydantic import Field

from pcevolve.public.modality.base import (
    OWN_DEGREE,
    Advice,
    Described,
    Kind,
    Modality,
    ModelSize,
    Nouns,
    join,
)
from pcevolve.public.modality.images import Images
from pcevolve.public.modality.texts import Texts

__all__ = [
    "MODALITIES",
    "OWN_DEGREE",
    "SINGLE",
    "Advice",
    "AnyModality",
    "Described",
    "Images",
    "Kind",
    "Modality",
    "ModelSize",
    "Nouns",
    "Texts",
    "find_tested",
    "images_of",
    "join",
    "read_kind",
    "texts_of",
]

_ALL: Final[tuple[type[Modality], ...]] = (Images, Texts)
"""Every kind; the first is the default. A new kind is added here and nowhere else."""
MODALITIES: Final[Mapping[Kind, type[Modality]]] = {each.nouns.one: each for each in _ALL}
"""The class of each kind, by the kind's name."""
SINGLE: Final = frozenset(MODALITIES)
"""Names of the privacy unit if units are single images or texts."""

if TYPE_CHECKING:
    AnyModality: TypeAlias = Modality
else:
    AnyModality = Annotated[reduce(or_, _ALL), Field(discriminator="kind")]
    """A plan's settings of its kind, and of no other."""


def read_kind(summary: Mapping[str, Any]) -> Kind:
    """Return the kind of data of a run, from its summary; images by default."""
    kind: Kind = summary.get("modality", Images.nouns.one)
    return kind


def find_tested(found: Mapping[str, Any]) -> type[Modality]:
    """Return the kind of data that an evaluation was measured on."""
    return next(each for each in MODALITIES.values() if f"test_{each.nouns.many}" in found)


def images_of(made: Modality) -> Images:
    """Return the image settings of a run (``TypeError`` for another kind)."""
    if not isinstance(made, Images):
        raise TypeError(f"a plan for {made.nouns.many} has no settings of images")
    return made


def texts_of(made: Modality) -> Texts:
    """Return the text settings of a run (``TypeError`` for another kind)."""
    if not isinstance(made, Texts):
        raise TypeError(f"a plan for {made.nouns.many} has no settings of texts")
    return made
