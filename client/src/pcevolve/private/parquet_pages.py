"""Check the unpacked sizes that a Parquet file's pages state: its footer may state less, and readers trust the pages.

Headers of pages are structures of Thrift's compact protocol, of which two numbers are kept and all else is passed over
(https://parquet.apache.org/docs/file-format/data-pages, https://thrift.apache.org/docs/thrift-compact-protocol).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, BinaryIO

MOST_PAGES = 200_000
"""Of a column in a row group."""
_UNPACKED, _PACKED = 2, 3
"""Fields of a page's header: bytes of the page that follows, as it is used and as it lies there."""
_DEEPEST = 8  # structures within structures; a page's header has two


def count_unpacked_bytes(file: BinaryIO, start: int, length: int) -> int:
    """Add up what the pages of one column say that they unpack to; none is unpacked.

    Args:
        length: Bytes of all its pages, headers included.

    Raises:
        ValueError: They are no pages, or too many.
    """
    whole, place = 0, start
    for _ in range(MOST_PAGES):
        if place >= start + length:
            return whole
        # Page by page and not by the footer: a reader that unpacks trusts
        # the pages, so they are what has to be bounded.
        file.seek(place)
        found = _Header(file).numbers()
        unpacked, packed = found.get(_UNPACKED, -1), found.get(_PACKED, -1)
        if unpacked < 0 or packed < 0:
            raise ValueError("no page")
        whole += unpacked
        place = file.tell() + packed
    raise ValueError("more pages than a column has")


class _Header:
    """One structure, read from where a file stands; the file stands behind it afterwards."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._skips: dict[int, Callable[[int], None]] = {
            **dict.fromkeys((1, 2), lambda deep: None),  # truths, which stand in the field's own head
            3: lambda deep: self._pass(1),
            **dict.fromkeys((4, 5, 6), lambda deep: self._skip_number()),
            7: lambda deep: self._pass(8),
            8: lambda deep: self._pass(self._number()),
            **dict.fromkeys((9, 10), self._skip_list),
            12: self._skip_structure,
        }

    def numbers(self, deep: int = 0) -> dict[int, int]:
        """The whole numbers of the structure itself, by field."""
        if deep > _DEEPEST:
            raise ValueError("structures are nested too deeply")
        found, field = {}, 0
        while kind := (head := self._byte()) & 15:
            field = field + (head >> 4) if head >> 4 else self._read_signed()
            if kind in (4, 5, 6):
                found[field] = self._read_signed()
            else:
                self._skip(kind, deep)
        return found

    def _skip(self, kind: int, deep: int) -> None:
        if kind not in self._skips:
            raise ValueError("no kind of value that a page's header has")
        self._skips[kind](deep)

    def _skip_number(self) -> None:
        self._number()

    def _skip_structure(self, deep: int) -> None:
        self.numbers(deep + 1)

    def _skip_list(self, deep: int) -> None:
        head = self._byte()
        count, kind = (self._number() if head >> 4 == 15 else head >> 4), head & 15
        if count > MOST_PAGES:
            raise ValueError("a list longer than a page's header has")
        for _ in range(count):
            self._skip(3 if kind in (1, 2) else kind, deep + 1)

    def _pass(self, count: int) -> None:
        self._file.seek(count, os.SEEK_CUR)

    def _byte(self) -> int:
        found = self._file.read(1)
        if not found:
            raise ValueError("the file ends in the middle of a header")
        return found[0]

    def _number(self) -> int:
        found = 0
        # Ten bytes of seven bits are more than 64 bits.
        for shift in range(0, 70, 7):
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
        raise ValueError("a number longer than any")

    def _read_signed(self) -> int:
        found = self._number()
        return (found >> 1) ^ -(found & 1)


def find_column_start(chunk: Any) -> int:  # noqa: ANN401 - pyarrow has no types
    """Return the offset of a column chunk's first page, as pyarrow looks for it."""
    data, words = chunk.data_page_offset, chunk.dictionary_page_offset
    return int(min(data, words) if chunk.has_dictionary_page and words else data)
