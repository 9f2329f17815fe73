"""The media: all code that looks into images or texts is here and in ``encoders``.

A medium is one class, ``images.medium.ImageMedium`` or ``texts.TextMedium``, which its modality loads. The
first documents each method, the second only the differences of texts. Callers that need not know the kind use
``find_medium``; a decoded image or text is opaque to them.
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
"""An image or a text in memory. Outside ``modality`` and ``encoders`` it is opaque."""
Look: TypeAlias = Any
"""The appearance that an image may be given, ``images.appearance.Appearance``; texts have none."""

FROM_PARQUET = 'datasets.load_dataset(DIR)\npandas.read_parquet(DIR + "/data")'
"""Code that loads a release in Parquet, of any kind."""


class UnreadableError(Exception):
    """A provider's answer, or a file, cannot be read as this kind of data; the text may say why."""


@dataclass(frozen=True, eq=False)
class CandidateCheck:
    """The findings about one of a provider's items, by looking at it alone.

    Attributes:
        fault: Why it cannot be used, to follow "are"; empty if it can be used.
        signature: uint8, of equal length for all usable items of a kind; compared to tell whether two differ.
        size: Its size, if a plan asks for one: ``64 x 64``; else empty.
        shows: SHA-256, hex, of its pixels, or of its words in normal form: equal for equal content in any
            encoding; empty if unusable.
    """

    fault: str
    signature: NDArray[np.uint8]
    size: str = ""
    shows: str = ""


@dataclass(frozen=True)
class RenderedImages:
    """A provider's item as pages show it: a small ``jpeg``, or a whole ``text``; else empty."""

    jpeg: bytes = b""
    text: str = ""


def find_medium(kind: Kind) -> Medium:
    """Return the medium of a kind."""
    module, _, name = MODALITIES[kind].medium.partition(":")
    return cast("Medium", getattr(import_module(f"{__name__}.{module}"), name))
