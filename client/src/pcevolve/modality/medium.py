"""Findings about something that may be an image or a text, by whoever need not know which it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Item: TypeAlias = Any
"""An image or a text in memory. Outside ``modality`` and ``encoders`` it is opaque: carried, never looked into."""
Look: TypeAlias = Any
"""The appearance that an image may be given, ``images.appearance.Appearance``; texts have none."""

FROM_PARQUET = 'datasets.load_dataset(DIR)\npandas.read_parquet(DIR + "/data")'
"""How a release in Parquet is loaded, whatever it holds."""


class UnreadableError(Exception):
    """Something a provider sent, or a file holds, is nothing of the kind; the text may say why."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of a released file with what it should be.

    Attributes:
        fault: What is wrong with it, to be read after its name; empty if nothing is.
        rounded: By how many levels it is off, as far as rounding explains that.
    """

    fault: str = ""
    rounded: int = 0


@dataclass(frozen=True, eq=False)
class CandidateCheck:
    """The findings about something that a provider sent, by looking at it alone.

    Attributes:
        fault: Why it cannot be used, to be read after "are"; empty where it can.
        signature: uint8, equally long for all of a kind that can be used: what is compared to tell whether two differ.
        size: Its size, where a plan asks for one: ``64 x 64``; else empty.
    """

    fault: str
    signature: NDArray[np.uint8]
    size: str = ""


@dataclass(frozen=True)
class Shown:
    """Something that a provider sent, as pages show it: a small ``jpeg``, or a whole ``text``; else empty."""

    jpeg: bytes = b""
    text: str = ""
