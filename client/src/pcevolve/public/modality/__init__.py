"""Kinds of data that a run makes: each is a class in a file of its own, with all that is known of it beside it.

A class has the settings by which its kind is asked for, which a public plan embeds; the traits by which the rest of the
client treats kinds differently; the nouns that sentences about a run are made with; and it loads its medium, what needs
libraries to look into an image or a text (``media``). Nothing outside of this package asks which kind a run is of:
it asks for a trait.
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
"""Every kind; a new one has its line here, and nowhere else. The first is the usual one."""
MODALITIES: Final[Mapping[Kind, type[Modality]]] = {each.nouns.one: each for each in _ALL}
"""The class of each kind, by its word."""
SINGLE: Final = frozenset(MODALITIES)
"""What a privacy unit is called that is one image, one text, and has no name."""

if TYPE_CHECKING:
    AnyModality: TypeAlias = Modality
else:
    AnyModality = Annotated[reduce(or_, _ALL), Field(discriminator="kind")]
    """A plan's settings of its kind, and of no other."""


def read_kind(summary: Mapping[str, Any]) -> Kind:
    """The kind of run that a summary is of: images where it does not say."""
    kind: Kind = summary.get("modality", Images.nouns.one)
    return kind


def find_tested(found: Mapping[str, Any]) -> type[Modality]:
    """The kind of what an evaluation was measured on, of which its figures have a number."""
    return next(each for each in MODALITIES.values() if f"test_{each.nouns.many}" in found)


def images_of(made: Modality) -> Images:
    """Return the settings of a run that makes images; ``TypeError`` for another kind's."""
    if not isinstance(made, Images):
        raise TypeError(f"a plan for {made.nouns.many} has no settings of images")
    return made


def texts_of(made: Modality) -> Texts:
    """Return the settings of a run that makes texts; ``TypeError`` for another kind's."""
    if not isinstance(made, Texts):
        raise TypeError(f"a plan for {made.nouns.many} has no settings of texts")
    return made
