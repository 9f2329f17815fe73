"""Media: the code that decodes images and texts. Only this package and ``encoders`` look into them.

A medium is one class, ``images.medium.ImageMedium`` or ``texts.TextMedium``, which its modality loads. The image
class documents every method; the text class documents only the differences. Callers that do not depend on the
kind use ``find_medium``, and treat a decoded image or text as opaque.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pcevolve.public.modality import MODALITIES, Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pcevolve.public.media.images.medium import ImageMedium
    from pcevolve.public.media.texts import TextMedium

Medium: TypeAlias = "ImageMedium | TextMedium"
Item: TypeAlias = Any
"""An image or a text in memory. It is opaque outside ``media`` and ``encoders``."""
Look: TypeAlias = Any
"""The appearance that an image may be given, ``images.appearance.Appearance``; texts have none."""

FROM_PARQUET = 'datasets.load_dataset(DIR)\npandas.read_parquet(DIR + "/data")'
"""Code that loads a Parquet release of any kind."""


class UnreadableError(Exception):
    """A provider's answer or a file cannot be read as this kind of data. The message may state the reason."""


@dataclass(frozen=True, eq=False)
class CandidateCheck:
    """Findings about one of a provider's items, from that item alone.

    Attributes:
        fault: Why the item cannot be used, to follow "are"; empty if it can.
        signature: uint8, of equal length for all usable items of a kind. Two items differ if their signatures do.
        size: The item's size, ``64 x 64``, if a plan may request one; otherwise empty.
        shows: SHA-256, hex, of its pixels, or of its words in normal form, equal for equal content in any
            encoding; empty if the item is unusable.
    """

    fault: str
    signature: NDArray[np.uint8]
    size: str = ""
    shows: str = ""


@dataclass(frozen=True)
class RenderedImages:
    """A provider's item as pages show it: a small ``jpeg``, or a complete ``text``; both empty if it is unusable."""

    jpeg: bytes = b""
    text: str = ""


def find_medium(kind: Kind) -> Medium:
    """Return the medium of a kind."""
    module, _, name = MODALITIES[kind].medium.partition(":")
    return cast("Medium", getattr(import_module(f"{__name__}.{module}"), name))
