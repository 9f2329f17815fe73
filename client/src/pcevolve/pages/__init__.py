"""Self-contained pages for people: the report, and everything that left.

One file each, escaped, with a strict policy and small re-encoded pictures; made from public records alone.
"""

from __future__ import annotations

from pcevolve.pages.rendering import (
    Inline,
    PagePicture,
    compile_page,
    encode_uri,
    inline_parts,
    make_picture,
    read_own,
    read_style,
    spell_size,
)

__all__ = [
    "Inline",
    "PagePicture",
    "compile_page",
    "encode_uri",
    "inline_parts",
    "make_picture",
    "read_own",
    "read_style",
    "spell_size",
]
