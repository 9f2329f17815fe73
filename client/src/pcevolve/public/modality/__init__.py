"""Kinds of data that a run makes: each is a class in a file of its own, with everything known about it.

A class has the settings by which its kind is requested, which a public plan embeds. It has the traits by
which the rest of the client treats kinds differently, and the nouns for sentences about a run. It loads its
medium, which needs libraries to decode an image or a text (``media``). Outside of this package no code
compares kinds: it asks for a trait.
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
"""Every kind; a new kind is added here, and nowhere else. The first is the default."""
MODALITIES: Final[Mapping[Kind, type[Modality]]] = {each.nouns.one: each for each in _ALL}
"""The class of each kind, by its word."""
SINGLE: Final = frozenset(MODALITIES)
"""Words for an unnamed privacy unit of a single image or text."""

if TYPE_CHECKING:
    AnyModality: TypeAlias = Modality
else:
    AnyModality = Annotated[reduce(or_, _ALL), Field(discriminator="kind")]
    """A plan's settings of its kind, and of no other."""


def read_kind(summary: Mapping[str, Any]) -> Kind:
    """Return the kind of run that a summary is of; images by default."""
    kind: Kind = summary.get("modality", Images.nouns.one)
    return kind


def find_tested(found: Mapping[str, Any]) -> type[Modality]:
    """Return the kind of the data that an evaluation was measured on."""
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
