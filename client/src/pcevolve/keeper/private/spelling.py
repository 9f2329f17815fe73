"""Names that may mean the same: two spellings of one patient's id, and ids shortened by a spreadsheet.

Nothing is merged: the owner is told, and decides with a map or a column.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MOST_PAIRS = 1000
"""Largest number of pairs that are kept."""
_SHORTENED = re.compile(r"-?[0-9](\.[0-9]+)?[eE]\+?[0-9]{2,}")
_PIECES = re.compile(r"\d+|[^\W\d_]+")


def find_respelled(ids: Iterable[str]) -> list[tuple[str, str]]:
    """Find pairs of ids that differ only in case, leading zeros, accents, blanks or punctuation, in order.

    Separated numbers are compared one by one: 1-11 and 11-1 differ, although 111 may be either of them.
    """
    by_pieces: dict[tuple[str, ...], str] = {}
    found: list[tuple[str, str]] = []
    for name in dict.fromkeys(ids):
        first = by_pieces.setdefault(_read_pieces(name), name)
        found += [(first, name)] if first != name else []
    for pieces, name in by_pieces.items():
        unmarked = _read_pieces("".join(_PIECES.findall(_fold(name))))
        first = by_pieces.get(unmarked, name)
        found += [(first, name)] if pieces != unmarked and first != name else []
    return found[:MOST_PAIRS]


def find_shortened(ids: Iterable[str]) -> list[str]:
    """Return ids that a spreadsheet shortened, such as 1.23457E+11; several patients may have become one."""
    return [name for name in dict.fromkeys(ids) if _SHORTENED.fullmatch(name)]


def _fold(name: str) -> str:
    """Return a name without case and accents, with all digits written as 0 to 9."""
    if name.isascii():
        return name.lower()
    spread = unicodedata.normalize("NFKD", name).casefold()
    kept = (each for each in spread if not unicodedata.combining(each))
    return "".join(str(unicodedata.decimal(each, each)) for each in kept)


def _read_pieces(name: str) -> tuple[str, ...]:
    """Return the letter groups and numbers of a name, in order; letters separated only by marks are one group."""
    pieces: list[str] = []
    for piece in _PIECES.findall(_fold(name)):
        if piece[0].isdecimal():
            pieces.append(piece.lstrip("0") or "0")
        elif pieces and not pieces[-1][0].isdecimal():
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return tuple(pieces)
