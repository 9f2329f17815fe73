"""What another process prints, for a terminal: nothing in it commands the terminal but colours and a line's own bar.

The standard library alone.
"""

from __future__ import annotations

import codecs
import re

from pcevolve.errors import blank_out

# Colours; back to the start of a line and erase it, as bars do; hide and show the cursor. Nothing goes to other lines,
# asks the terminal for an answer, or names a window.
_ALLOWED = re.compile(r"(\x1b\[[0-9;]{0,20}m|\x1b\[2K|\x1b\[\?25[hl]|[\n\r])")
_BEGUN = re.compile(r"\x1b(\[[0-9;?]{0,20})?$")


class Words:
    """A process's words as they come, piece by piece."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def add(self, piece: bytes) -> str:
        """Return what may be printed of the words so far; what does not show is a blank."""
        text = self._rest + self._decoder.decode(piece)
        begun = _BEGUN.search(text)
        self._rest = begun.group() if begun else ""
        parts = _ALLOWED.split(text[: len(text) - len(self._rest)])
        return "".join(part if place % 2 else blank_out(part) for place, part in enumerate(parts))

    def end(self) -> str:
        """Return what is left."""
        return blank_out(self._rest + self._decoder.decode(b"", final=True))
