"""What was computed last, within a bound of bytes; for tensors that are asked for again and again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class Kept(Generic[_Value]):
    """Values by their key; the one that was used least recently is dropped first. For one thread."""

    def __init__(self, most_bytes: int, weigh: Callable[[_Value], int]) -> None:
        """Begin with nothing.

        Args:
            most_bytes: Of all values together; a value that is larger alone is returned and not kept.
            weigh: Bytes of a value.
        """
        self._most, self._weigh = most_bytes, weigh
        self._values: OrderedDict[Hashable, _Value] = OrderedDict()
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        """Of all values together."""
        return self._bytes

    def get(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """Return the value of ``key``, made now if it is not there."""
        if key in self._values:
            self._values.move_to_end(key)
            return self._values[key]
        value = make()
        if self._weigh(value) <= self._most:
            self._keep(key, value)
        return value

    def _keep(self, key: Hashable, value: _Value) -> None:
        self._values[key] = value
        self._bytes += self._weigh(value)
        while self._bytes > self._most:
            _, dropped = self._values.popitem(last=False)
            self._bytes -= self._weigh(dropped)
