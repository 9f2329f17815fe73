"""The seam between the rooms and a kind of data, images or texts; they need not know which it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pcevolve.public.modality import Kind
from pcevolve.public.plan import PublicPlan

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
    """Something that a provider sent, as pages and terminals show it; empty where it is nothing of the kind.

    Attributes:
        jpeg: A small picture, encoded anew.
        text: A text as a whole.
    """

    jpeg: bytes = b""
    text: str = ""


class Column(Protocol):
    """A table's column for one kind of data.

    Attributes:
        feature: What Hugging Face is told of it.
    """

    feature: Mapping[str, str]

    def arrow(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """Its type in Arrow; pyarrow is loaded for it."""
        ...

    def cell(self, name: str, released: bytes) -> object:
        """One released file as a value of that type.

        Args:
            name: Of the file.
            released: What is in it.
        """
        ...


class Medium(Protocol):
    """One kind of data.

    Attributes:
        kind: Its name; also of the privacy unit that is one of them.
        suffix: Of the files of a release.
        loaders: Lines of Python that load a release in ``DIR``, by the form that it was exported to; None for its files
            in class folders.
        column: How it stands in a table.
    """

    kind: Kind
    suffix: str
    loaders: Mapping[str | None, str]
    column: Column

    def oversized(self, data: bytes, plan: PublicPlan) -> str:
        """Say what is wrong with the size of what a provider sent, after "the API sent"; empty for nothing.

        What is nothing of the kind is not judged here. Nothing is decoded.

        Args:
            data: As it came.
            plan: Says what was asked for.
        """
        ...

    def check(self, data: bytes) -> CandidateCheck:
        """Look at what a provider sent: whether it can be used, and what tells it from others. Public.

        Args:
            data: As it came.
        """
        ...

    def alike(self, kept: NDArray[np.int16], signature: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Mark candidates that equal another but for what a provider writes on a placeholder.

        Args:
            kept: Their signatures, ``(candidates, length)``.
            signature: The other's.

        Returns:
            bool ``(candidates,)``.
        """
        ...

    def shown(self, data: bytes, wanted: Look | None = None) -> Shown:
        """Show something that a provider sent to people.

        Args:
            data: As it came.
            wanted: The appearance that it is given first; None for its own.
        """
        ...

    def opened(
        self, path: Path, wanted: Look | None = None, window: tuple[float, float] | None = None
    ) -> Item | None:
        """Read anybody's file as an encoder is shown it; None for an empty text.

        Args:
            path: The file.
            wanted: The appearance that it is given first; None for its own.
            window: What is black and what is white in a grey image; None for what its file says.

        Raises:
            UnreadableError: Why it cannot be read, to be said after its name.
        """
        ...

    def decoded(self, data: bytes, wanted: Look | None = None) -> Item | None:
        """Decode something that a provider sent, as an encoder is shown it; None if it is unusable: see ``check``.

        Args:
            data: As it came.
            wanted: The appearance that it is given first; None for its own.
        """
        ...

    def released(self, data: bytes, wanted: Look | None = None) -> bytes:
        """Return something that a provider sent in the form in which it is released.

        Raises:
            UnreadableError: It cannot be used: see ``check``.
        """
        ...

    def reopened(self, released: bytes) -> Item | None:
        """A released file as an encoder is shown it; None for what is nothing of the kind."""
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
