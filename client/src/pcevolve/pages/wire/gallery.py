"""The pictures of the page, or the texts: each distinct image once, re-encoded and small, however often it is shown.

A picture is the background of a CSS class. As ``img`` elements the same bytes would have to stand in the page wherever
a prototype, its answer and its retries are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pcevolve.errors import TranscriptError
from pcevolve.modality.media import medium
from pcevolve.pages import data_uri
from pcevolve.pages.pictures import shortened
from pcevolve.public.modalities import Kind, spoken

MOST_PICTURE_BYTES = 6_000_000  # about 3000 pictures


@dataclass(frozen=True)
class Picture:
    """How an image is shown.

    Attributes:
        state: ``shown``, or why it is not.
        name: CSS class; empty for no picture.
        text: The beginning of a text; empty for an image.
        bytes: Length of the original.
    """

    state: str
    name: str = ""
    bytes: int = 0
    text: str = ""


class Gallery:
    """Pictures by digest; the first ones that are hung find room."""

    def __init__(
        self, file: Callable[[str], bytes], kind: Kind = "image", most_bytes: int = MOST_PICTURE_BYTES
    ) -> None:
        self._file, self._kind = file, kind
        self._bytes_left = most_bytes
        self._rules: list[str] = []
        self._pictures: dict[str, Picture] = {}

    def __getitem__(self, digest: str) -> Picture:
        """The picture of an image that was hung."""
        return self._pictures[digest]

    def __len__(self) -> int:
        return len(self._rules)

    @property
    def style(self) -> str:
        """The CSS rules that show the pictures, each picture as the background of its own class."""
        return "\n".join(self._rules)

    def hang(self, digest: str) -> None:
        """Make an image's picture, unless it has one already."""
        if digest not in self._pictures:
            self._pictures[digest] = self._made(digest)

    def _made(self, digest: str) -> Picture:
        if self._bytes_left <= 0:
            return Picture("not embedded")
        try:
            data = self._file(digest)
        except TranscriptError:
            return Picture("missing or changed")
        found = medium(self._kind).shown(data)
        if found.jpeg:
            return self._framed(found.jpeg, len(data))
        text = shortened(found.text)
        self._bytes_left -= len(text.encode())
        return Picture("shown" if text else spoken("not an image", self._kind), bytes=len(data), text=text)

    def _framed(self, jpeg: bytes, length: int) -> Picture:
        """A picture under a name of its own; ``length`` is the original's."""
        name = f"p{len(self._rules)}"
        rule = f".{name}{{background-image:url({data_uri(jpeg)})}}"
        self._bytes_left -= len(rule)
        self._rules.append(rule)
        return Picture("shown", name, length)
