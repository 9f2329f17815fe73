"""Self-contained pages for people: the report, and everything that left.

One file each, escaped, with a strict policy and small re-encoded pictures; made from public records alone, but for
``comparison``, which is handed what judges found. May import what is public, ``transcript``, ``publish`` and ``rules``.
May be imported by ``auditing``, ``benchmarks``, ``cli`` and ``session``.
"""

from __future__ import annotations

from pcevolve.pages.rendering import (
    Inline,
    PagePicture,
    base_style,
    compile_page,
    data_uri,
    inline,
    own_file,
    picture,
    size,
)

__all__ = [
    "Inline",
    "PagePicture",
    "base_style",
    "compile_page",
    "data_uri",
    "inline",
    "own_file",
    "picture",
    "size",
]
