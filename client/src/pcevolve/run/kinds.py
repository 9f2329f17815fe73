"""Where a run finds what it does with its kind of data: the only place that knows both kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pcevolve.public.modalities import Kind
from pcevolve.run.concerns import Parts
from pcevolve.run.images.parts import ImageParts
from pcevolve.run.texts.parts import TextParts

_PARTS: Final[Mapping[Kind, Parts]] = {"image": ImageParts(), "text": TextParts()}


def of_kind(kind: Kind) -> Parts:
    """What a run does with one kind of data."""
    return _PARTS[kind]
