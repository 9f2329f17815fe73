"""Rows of two numbers as one kind of data: checked, shown, released, and in a table."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.media import FROM_PARQUET, CandidateCheck, RenderedImages, UnreadableError
from pcevolve.public.plan import PublicPlan

COLUMNS: Final = 2


def read_row(data: bytes) -> tuple[float, ...] | None:
    """The numbers of a row; None for what is none."""
    try:
        row = tuple(float(each) for each in data.decode().split(","))
    except ValueError:
        return None
    return row if len(row) == COLUMNS and all(map(math.isfinite, row)) else None


def spell_row(row: tuple[float, ...]) -> str:
    """A row as it is sent and released."""
    return ",".join(f"{each:.2f}" for each in row)


def digest_row(row: tuple[float, ...]) -> bytes:
    """SHA-256 by which the ledger knows a row."""
    return hashlib.sha256(f"row\n{spell_row(row)}".encode()).digest()


class RowMedium:
    """A file of a release is a row and a line's end."""

    kind: str = "row"
    suffix: str = ".csv"
    loaders: Mapping[str | None, str] = {None: "numpy.loadtxt(FILE)", "parquet": FROM_PARQUET}
    feature: Mapping[str, str] = {"dtype": "string", "_type": "Value"}
    card_type: str = "string"
    has_folder_features: bool = False

    def arrow_type(self) -> Any:
        import pyarrow as pa

        return pa.string()

    def make_cell(self, name: str, released: bytes) -> object:
        return released.decode().removesuffix("\n")

    def describe_oversize(self, data: bytes, plan: PublicPlan) -> str:
        return "" if len(data) < 100 else f"a row of {len(data)} bytes"

    def check(self, data: bytes) -> CandidateCheck:
        row = read_row(data)
        if row is None:
            return CandidateCheck("no rows", np.empty(0, dtype=np.uint8))
        digest = digest_row(row)
        return CandidateCheck("", np.frombuffer(digest, dtype=np.uint8), shows=digest.hex())

    def mark_alike(self, kept: NDArray[np.int16], signature: NDArray[np.uint8]) -> NDArray[np.bool_]:
        same: NDArray[np.bool_] = (kept == signature).all(axis=1)
        return same

    def show(self, data: bytes, wanted: object = None) -> RenderedImages:
        row = read_row(data)
        return RenderedImages(text="" if row is None else spell_row(row))

    def show_decoded(self, item: tuple[float, ...]) -> RenderedImages:
        return RenderedImages(text=spell_row(item))

    def blank(self, received: bytes, share: float, seed: int) -> str | None:
        """The row with as many blanks as the share says, at least one."""
        row = read_row(received)
        if row is None:
            return None
        places = range(COLUMNS)
        chosen = random.Random(f"{seed}/{received!r}").sample(places, max(1, round(share * COLUMNS)))
        return ",".join("_" if place in chosen else f"{row[place]:.2f}" for place in places)

    def open(
        self, path: Path, wanted: object = None, window: object = None
    ) -> tuple[tuple[float, ...], bytes]:
        row = read_row(path.read_bytes())
        if row is None:
            raise UnreadableError("is no row")
        return row, digest_row(row)

    def decode(self, data: bytes, wanted: object = None) -> tuple[float, ...] | None:
        return read_row(data)

    def encode_release(self, data: bytes, wanted: object = None) -> bytes:
        row = read_row(data)
        if row is None:
            raise UnreadableError
        return f"{spell_row(row)}\n".encode()

    def decode_release(self, released: bytes) -> tuple[float, ...] | None:
        return read_row(released)


ROWS: Final = RowMedium()
