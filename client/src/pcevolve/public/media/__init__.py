"""All that knows what an image or a text is: what they hold is read, measured and changed here, and in ``encoders``.

A medium is one class, ``images.medium.ImageMedium`` or ``texts.TextMedium``, which its modality loads; the first says
what each method promises, the second only where texts differ. ``find_medium`` is what a room asks that need not know
which of them it has; a decoded image or text is opaque to it.
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
"""An image or a text in memory. Outside ``modality`` and ``encoders`` it is opaque: carried, never looked into."""
Look: TypeAlias = Any
"""The appearance that an image may be given, ``images.appearance.Appearance``; texts have none."""

FROM_PARQUET = 'datasets.load_dataset(DIR)\npandas.read_parquet(DIR + "/data")'
"""How a release in Parquet is loaded, whatever it holds."""


class UnreadableError(Exception):
    """Something a provider sent, or a file holds, is nothing of the kind; the text may say why."""


@dataclass(frozen=True, eq=False)
class CandidateCheck:
    """The findings about something that a provider sent, by looking at it alone.

    Attributes:
        fault: Why it cannot be used, to be read after "are"; empty where it can.
        signature: uint8, equally long for all of a kind that can be used: what is compared to tell whether two differ.
        size: Its size, where a plan asks for one: ``64 x 64``; else empty.
        shows: SHA-256, hex, of its pixels or of its words in their normal form: equal for what is the same to whoever
            looks at it, however it was encoded; empty where it cannot be used.
    """

    fault: str
    signature: NDArray[np.uint8]
    size: str = ""
    shows: str = ""


@dataclass(frozen=True)
class RenderedImages:
    """Something that a provider sent, as pages show it: a small ``jpeg``, or a whole ``text``; else empty."""

    jpeg: bytes = b""
    text: str = ""


def find_medium(kind: Kind) -> Medium:
    """The medium of a kind."""
    module, _, name = MODALITIES[kind].medium.partition(":")
    return cast("Medium", getattr(import_module(f"{__name__}.{module}"), name))
