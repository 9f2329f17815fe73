"""Images in a table, as Hugging Face keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


class ImageColumn:
    """An image is its file's bytes and name."""

    feature: Mapping[str, str] = {"_type": "Image"}

    def arrow(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """See ``Column.arrow``."""
        import pyarrow as pa

        return pa.struct([("bytes", pa.binary()), ("path", pa.string())])

    def cell(self, name: str, released: bytes) -> object:
        """See ``Column.cell``."""
        return {"bytes": released, "path": name}


COLUMN: Final = ImageColumn()
