"""What the rooms ask of a kind of data, images or texts, without knowing which it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from pcevolve.public.modalities import Kind

Item: TypeAlias = Any
"""An image or a text in memory. Outside ``modality`` and ``encoders`` it is opaque: carried, never looked into."""
Look: TypeAlias = Any
"""The appearance that an image may be given, ``images.appearance.Appearance``; texts have none."""


class UnreadableError(Exception):
    """What a provider sent is nothing of the kind that was asked for."""


@dataclass(frozen=True)
class Comparison:
    """How a released file stands to what it should be.

    Attributes:
        fault: What is wrong with it, to be read after its name; empty if nothing is.
        rounded: By how many levels it is off, as far as rounding explains that.
    """

    fault: str = ""
    rounded: int = 0


class Medium(Protocol):
    """One kind of data.

    Attributes:
        kind: Its name; also of the privacy unit that is one of them.
        suffix: Of the files of a release.
    """

    kind: Kind
    suffix: str

    def decoded(self, data: bytes, wanted: Look | None = None) -> Item | None:
        """What a provider sent, as an encoder is shown it; None for what is nothing of the kind.

        Args:
            data: As it came.
            wanted: The appearance that it is given first; None for its own.
        """
        ...

    def released(self, data: bytes, wanted: Look | None = None) -> bytes:
        """What a provider sent, as it is released.

        Raises:
            UnreadableError: It is nothing of the kind.
        """
        ...

    def values(self, released: bytes) -> int:
        """Numbers of a released file that rounding could change."""
        ...

    def compared(self, found: bytes, expected: bytes, exact: bool) -> Comparison:
        """Hold a released file that is not what was expected against it.

        Args:
            found: What lies there.
            expected: What ``released`` gives.
            exact: Whether no arithmetic was done, which machines might round differently.
        """
        ...
