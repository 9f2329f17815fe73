"""What the receipts cost, in words and in sum, as the run's own accountant reckons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pcevolve.dp.accountants import epsilon
from pcevolve.privacy import Event, MechanismName
from pcevolve.transcript import RecordedReceipt

PARAMETERS: dict[MechanismName, str] = {
    "exponential": "bounded range η",
    "permute-and-flip": "pure ε",
    "gaussian": "noise multiplier",
}


@dataclass(frozen=True)
class Price:
    """Privacy loss ε at the run's δ; None where no accountant can tell.

    Attributes:
        own: Of one receipt alone.
        total: Of all receipts so far.
    """

    own: float | None
    total: float | None


def prices(receipts: Iterable[RecordedReceipt], delta: float) -> dict[int, Price]:
    """Prices by the receipt's line in the transcript."""
    events: list[Event] = []
    by_line = {}
    for each in receipts:
        events.extend(each.receipt.events)
        by_line[each.line] = Price(_loss(each.receipt.events, delta), _loss(events, delta))
    return by_line


def in_words(event: Event) -> str:
    """An event in words: ``2 × exponential, bounded range η = 2.5``."""
    times = f"{event.count} × " if event.count > 1 else ""
    meaning = PARAMETERS.get(event.mechanism)
    if meaning:
        return f"{times}{event.mechanism}, {meaning} = {_short(event)}"
    return f"{times}{event.mechanism}, costs nothing"


def _short(event: Event) -> str:
    try:
        return f"{float(event.value):.6g}"
    except (ArithmeticError, ValueError):  # too large for a float
        return event.parameter


def _loss(events: Sequence[Event], delta: float) -> float | None:
    """What events add up to; None where a forged record names some that are beyond any accountant."""
    try:
        return epsilon(events, delta)
    except (ArithmeticError, ValueError):
        return None
