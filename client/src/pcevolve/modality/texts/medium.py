"""Texts as the other rooms see them."""

from __future__ import annotations

from typing import Final

from pcevolve.modality.medium import Comparison, Look, UnreadableError
from pcevolve.modality.texts.reading import Text, read
from pcevolve.public.modalities import Kind


class TextMedium:
    """A file of a release is a text in its normal form and a line's end, in UTF-8."""

    kind: Kind = "text"
    suffix: str = ".txt"

    def decoded(self, data: bytes, wanted: Look | None = None) -> Text | None:
        """See ``Medium.decoded``; a text has no appearance."""
        return read(data)

    def released(self, data: bytes, wanted: Look | None = None) -> bytes:
        """See ``Medium.released``."""
        text = read(data)
        if text is None:
            raise UnreadableError
        return f"{text}\n".encode()

    def values(self, released: bytes) -> int:
        """None: nothing is computed."""
        return 0

    def compared(self, found: bytes, expected: bytes, exact: bool) -> Comparison:
        """See ``Medium.compared``: a text is the same or another one."""
        return Comparison("is not the text that the provider sent")


TEXTS: Final = TextMedium()
