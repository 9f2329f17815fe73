"""Texts in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


class TextColumn:
    """A text is a string, without its line's end."""

    feature: Mapping[str, str] = {"dtype": "string", "_type": "Value"}

    def arrow(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """See ``Column.arrow``."""
        import pyarrow as pa

        return pa.string()

    def cell(self, name: str, released: bytes) -> object:
        """See ``Column.cell``."""
        return released.decode().removesuffix("\n")


COLUMN: Final = TextColumn()
