"""Another process's output for a terminal, which may use colours and redraw its own line and nothing else.

It uses the standard library alone.
"""

from __future__ import annotations

import codecs
import re

from pcevolve.errors import blank_out

# Allowed are colours, erasing and redrawing one line, as progress bars do, and hiding and showing the cursor.
# Nothing moves to other lines, queries the terminal, or sets a title.
_ALLOWED = re.compile(r"(\x1b\[[0-9;]{0,20}m|\x1b\[2K|\x1b\[\?25[hl]|[\n\r])")
_BEGUN = re.compile(r"\x1b(\[[0-9;?]{0,20})?$")


class Words:
    """A process's output as it comes, piece by piece."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def add(self, piece: bytes) -> str:
        """Return what may be printed so far; other invisible characters become blanks."""
        text = self._rest + self._decoder.decode(piece)
        begun = _BEGUN.search(text)
        self._rest = begun.group() if begun else ""
        parts = _ALLOWED.split(text[: len(text) - len(self._rest)])
        return "".join(part if place % 2 else blank_out(part) for place, part in enumerate(parts))

    def end(self) -> str:
        """Return the last characters, at the end of the output."""
        return blank_out(self._rest + self._decoder.decode(b"", final=True))
