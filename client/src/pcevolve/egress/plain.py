"""What the gate compares: values of our own types, which cannot claim to be equal to what they are not."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Final

from pcevolve.errors import EgressError
from pcevolve.privacy import Event
from pcevolve.providers.dialect import WireRequest
from pcevolve.public.plan import Call
from pcevolve.public.release import Candidate, Choice, Chosen, Prototype, PublicEcho, Receipt

_PLAIN: Final = frozenset({str, bytes, int, float, tuple, NoneType})
_OURS: Final = frozenset(
    {WireRequest, Call, Candidate, Prototype, PublicEcho, Receipt, Choice, Chosen, Event}
)


def require_plain(*values: object) -> None:
    """Refuse values of types of somebody else's, which can claim to be equal to anything.

    Raises:
        EgressError: One is not of our types, down to the last field.
    """
    for value in values:
        if type(value) in _OURS and is_dataclass(value):
            require_plain(*(getattr(value, each.name) for each in fields(value)))
        elif type(value) is tuple:
            require_plain(*value)
        elif type(value) not in _PLAIN:
            raise EgressError("what was handed to the gate is not made of plain values")
