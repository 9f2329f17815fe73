"""Texts as the other rooms see them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pcevolve.modality.medium import (
    FROM_PARQUET,
    CandidateCheck,
    Column,
    Comparison,
    Look,
    Shown,
    UnreadableError,
)
from pcevolve.modality.texts.reading import Text, is_refusal, read, without_ids
from pcevolve.public.modality import Kind
from pcevolve.public.plan import PublicPlan


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


TOKEN_BYTES: Final = 64
"""Of UTF-8, more than a token of any common vocabulary has."""
MIN_BYTES: Final = 4096
"""So long a text may always be, for an API that counts other tokens."""


class TextMedium:
    """A file of a release is a text in its normal form and a line's end, in UTF-8."""

    kind: Kind = "text"
    suffix: str = ".txt"
    loaders: Mapping[str | None, str] = {
        None: 'sklearn.datasets.load_files(DIR, encoding="utf-8")',
        "parquet": FROM_PARQUET,
        "webdataset": 'datasets.load_dataset("webdataset", data_dir=DIR)\n'
        'webdataset.WebDataset(sorted(glob.glob(DIR + "/data/*.tar"))).decode().to_tuple("txt", "cls")',
    }
    column: Column = COLUMN

    def oversized(self, data: bytes, plan: PublicPlan) -> str:
        """See ``Medium.oversized``: tokens may be long ones."""
        tokens = plan.texts.tokens
        if len(data) <= max(tokens * TOKEN_BYTES, MIN_BYTES):
            return ""
        return f"a text of {len(data)} bytes where {tokens} tokens were asked for"

    def check(self, data: bytes) -> CandidateCheck:
        """See ``Medium.check``: two texts are the same that differ in capitals and ids at most."""
        text = read(data)
        if text is None:
            return CandidateCheck("empty, withheld or no text", np.empty(0, dtype=np.uint8))
        named = hashlib.sha256(without_ids(text).casefold().encode()).digest()
        return CandidateCheck("refusals" if is_refusal(text) else "", np.frombuffer(named, dtype=np.uint8))

    def alike(self, kept: NDArray[np.int16], signature: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """See ``Medium.alike``: signatures are digests."""
        same: NDArray[np.bool_] = (kept == signature).all(axis=1)
        return same

    def shown(self, data: bytes, wanted: Look | None = None) -> Shown:
        """See ``Medium.shown``: the text."""
        return Shown(text=read(data) or "")

    def opened(
        self, path: Path, wanted: Look | None = None, window: tuple[float, float] | None = None
    ) -> Text | None:
        """See ``Medium.opened``: UTF-8."""
        try:
            return read(path.read_bytes())
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror}") from None

    def decoded(self, data: bytes, wanted: Look | None = None) -> Text | None:
        """See ``Medium.decoded``; a text has no appearance."""
        text = read(data)
        return None if text is None or is_refusal(text) else text

    def released(self, data: bytes, wanted: Look | None = None) -> bytes:
        """See ``Medium.released``."""
        text = self.decoded(data)
        if text is None:
            raise UnreadableError
        return f"{text}\n".encode()

    def reopened(self, released: bytes) -> Text | None:
        """See ``Medium.reopened``."""
        return read(released)

    def values(self, released: bytes) -> int:
        """None: nothing is computed."""
        return 0

    def compared(self, found: bytes, expected: bytes, exact: bool) -> Comparison:
        """See ``Medium.compared``: a text is the same or another one."""
        return Comparison("is not the text that the provider sent")


TEXTS: Final = TextMedium()
