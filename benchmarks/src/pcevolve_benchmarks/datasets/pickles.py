"""Reads pickles that are dictionaries of arrays and lists of numbers, and nothing else: no code can run.

Nothing that a pickle names is called, numpy's constructors included: an array is put together here, of bytes that lie
in the file. So no pickle takes more memory than a few times its own length and a bounded number of small objects.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError
from pcevolve_shared.reading import read_file

MOST_BYTES: Final = 2**30
"""Of a file; one of CIFAR's has 31 MB."""
MOST_READS: Final = 1_000_000
"""Steps of a pickle and their arguments; one of CIFAR's has 50,000. A step of one byte may make an object of 100."""
_NUMBERS: Final = frozenset(["b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"])
_LEFT_OUT: Final = (
    *(pickle.PERSID, pickle.BINPERSID, pickle.OBJ, pickle.INST, pickle.NEWOBJ, pickle.NEWOBJ_EX),
    *(pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET),
    *(pickle.BYTEARRAY8, pickle.NEXT_BUFFER, pickle.READONLY_BUFFER),
)
"""What no dictionary of arrays needs: objects, sets, and room that is taken before it is filled."""
_FAULTS: Final = (
    *(pickle.UnpicklingError, EOFError, AttributeError, LookupError, TypeError, ValueError, OSError),
    *(ArithmeticError, AssertionError, MemoryError, struct.error),
)
"""Whatever Python's reader of pickles raises on damaged ones."""


class _Type:
    """A type of numbers, as numpy pickles it: a name such as ``u1``, and in which order its bytes are."""

    def __init__(self, name: object, *_: object) -> None:
        self.name = name.decode("latin-1") if isinstance(name, bytes) else name
        self.order: object = "|"

    def fill(self, state: Any) -> None:  # noqa: ANN401 - whatever the pickle says
        order = state[1]
        self.order = order.decode("latin-1") if isinstance(order, bytes) else order

    def numpy(self) -> np.dtype[Any]:
        """The type of numbers.

        Raises:
            UnpicklingError: It is none of the plain ones.
        """
        if self.name not in _NUMBERS or self.order not in ("|", "<", ">", "="):
            raise pickle.UnpicklingError("it has an array of something else than numbers")
        return np.dtype(f"{self.order}{self.name}")


class _Array:
    """An array without numbers, whatever size it is asked for, until its state comes with the bytes."""

    def __init__(self, *_: object) -> None:
        self.values: NDArray[Any] = np.empty(0)

    def fill(self, state: Any) -> None:  # noqa: ANN401 - whatever the pickle says
        *_, shape, kind, by_column, data = state
        sized = isinstance(shape, tuple) and all(
            type(each) is int and 0 <= each <= MOST_BYTES for each in shape
        )
        if not sized or not isinstance(kind, _Type) or not isinstance(data, bytes):
            raise pickle.UnpicklingError("it has an array of something else than numbers")
        if math.prod(shape) * kind.numpy().itemsize != len(data):
            raise pickle.UnpicklingError("it has an array that is not as large as it says")
        self.values = np.frombuffer(data, kind.numpy()).reshape(shape, order="F" if by_column else "C")


class _Counted(io.BytesIO):
    """A pickle that is read in so many steps at most."""

    steps = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.steps += 1
        if self.steps > MOST_READS:
            raise pickle.UnpicklingError(f"it has more than {MOST_READS:,} steps")
        return super().read(size)


class _Unpickler(pickle._Unpickler):
    read: Callable[[int], bytes]
    stack: list[Any]
    pop_mark: Callable[[], list[Any]]

    def __init__(self, data: bytes) -> None:
        super().__init__(_Counted(data), encoding="bytes")
        self._text_left = len(data)
        self._stand_ins = {
            ("numpy", "dtype"): _Type,
            ("numpy", "ndarray"): object(),  # which is named and never called
            ("numpy.core.multiarray", "_reconstruct"): _Array,
            ("numpy._core.multiarray", "_reconstruct"): _Array,
            ("_codecs", "encode"): self._encode,
        }

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - what stands for that name here
        if (module, name) not in self._stand_ins:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no array needs")
        return self._stand_ins[module, name]

    def _encode(self, text: str, _: object) -> bytes:
        """Bytes as Python 3 wrote them for Python 2; each text lies in the file, so all have its length at most."""
        self._text_left -= len(text)
        if self._text_left < 0:
            raise pickle.UnpicklingError("it uses one text for many arrays")
        return text.encode("latin-1")

    def _frame(self) -> None:
        """Read on without a frame, which is a hint; what is in one counts like anything else."""
        self.read(8)

    def _put(self, items: list[Any]) -> None:
        """Fill the dictionary on the stack; hashing any other key than text could take for ever."""
        if not all(isinstance(key, str | bytes) for key in items[::2]):
            raise pickle.UnpicklingError("it has a dictionary with names that are no text")
        self.stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def _put_one(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._put([key, value])

    def _put_some(self) -> None:
        self._put(self.pop_mark())

    def _dictionary(self) -> None:
        items = self.pop_mark()
        self.stack.append({})
        self._put(items)

    def _build(self) -> None:
        state = self.stack.pop()
        if not isinstance(self.stack[-1], _Type | _Array):
            raise pickle.UnpicklingError("it has an object that is no array")
        self.stack[-1].fill(state)

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **{code: act for code, act in pickle._Unpickler.dispatch.items() if bytes([code]) not in _LEFT_OUT},
        pickle.FRAME[0]: _frame,
        pickle.DICT[0]: _dictionary,
        pickle.SETITEM[0]: _put_one,
        pickle.SETITEMS[0]: _put_some,
        pickle.BUILD[0]: _build,
    }


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Arrays and lists of whole numbers in a pickled dictionary, by name, also of one that Python 2 wrote.

    Raises:
        DataError: It is damaged, no dictionary, or names something that could run.
    """
    try:
        found = _Unpickler(read_file(path, MOST_BYTES)).load()
        arrays = {name: _numbers(value) for name, value in found.items()}
        return {
            name.decode() if isinstance(name, bytes) else name: each
            for name, each in arrays.items()
            if each is not None
        }
    except _FAULTS as error:
        error.__traceback__ = None  # with it goes what was built, which may have taken all memory
        raise DataError(f"{path} is no pickle of arrays alone: {error}") from None


def _numbers(value: object) -> NDArray[Any] | None:
    """An array, or a list of whole numbers as one; None for anything else."""
    if isinstance(value, _Array):
        return value.values
    whole = isinstance(value, list) and all(type(each) is int for each in value)
    return np.array(value, dtype=np.int64) if whole else None
