"""Values that are what they seem: of the client's own exact types, down to the last field.

What is handed to the gate is compared with the gate's own copies. A subclass, even of ``str``, could claim to be equal
to anything, so none is let in.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Final

from pcevolve.errors import EgressError
from pcevolve.privacy import Event
from pcevolve.public.calls import Call
from pcevolve.public.release import (
    Candidate,
    Choice,
    Chosen,
    Prototype,
    PublicEcho,
    Receipt,
)

_SCALARS: Final = frozenset({str, int, float, NoneType})
_OURS: Final = frozenset({Call, Candidate, Prototype, PublicEcho, Receipt, Choice, Chosen, Event})


def require_own_type(value: object, *kinds: type, copied: Container[object] = ()) -> None:
    """Refuse a value of a type of somebody else's.

    Args:
        value: What was handed in.
        kinds: What it may be.
        copied: What in it need not be looked through, because the gate has a copy and looks at that alone.

    Raises:
        EgressError: It is none of these, or something in it is neither a public type of the client's nor a scalar or
            tuple.
    """
    if type(value) not in kinds or not _is_own(value, copied):
        raise EgressError("what was handed to the gate is not made of plain values")


def _is_own(value: object, copied: Container[object]) -> bool:
    """Whether a value is of the client's own types, down to the last field."""
    if type(value) in _OURS and is_dataclass(value):
        return value in copied or all(_is_own(getattr(value, each.name), copied) for each in fields(value))
    if type(value) is tuple:
        return all(_is_own(each, copied) for each in value)
    return type(value) in _SCALARS
