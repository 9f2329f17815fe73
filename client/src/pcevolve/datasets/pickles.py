"""Reads pickles that are dictionaries of arrays, lists, text and numbers, and nothing else: no code can run."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from pcevolve.errors import DataError

ALLOWED = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("_codecs", "encode"),
}
"""What a pickle of an array of numbers names; every other name is refused, and with it whatever could run."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - whatever the module has of that name
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no array needs")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def read_arrays(path: Path) -> dict[str, Any]:
    """A pickled dictionary; its names as text, also of a file that Python 2 wrote.

    Raises:
        DataError: It is damaged, no dictionary, or names something that could run.
    """
    try:
        with path.open("rb") as file:
            found = _Unpickler(file, encoding="bytes").load()
        return {
            name.decode() if isinstance(name, bytes) else str(name): value for name, value in found.items()
        }
    except (
        pickle.UnpicklingError,
        EOFError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        OSError,
    ) as error:
        raise DataError(f"{path} is no pickle of arrays alone: {error}") from None
