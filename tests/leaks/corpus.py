"""Every attempt against the gate."""

from __future__ import annotations

from leaks.attempts import Attempt
from leaks.families import (
    across_runs,
    address,
    disk,
    images,
    judge,
    numbers,
    order,
    receipts,
    sentences,
    spoken,
    timing,
    words,
)

CORPUS: tuple[Attempt, ...] = tuple(
    attempt
    for family in (
        images,
        receipts,
        judge,
        words,
        numbers,
        address,
        order,
        disk,
        sentences,
        spoken,
        across_runs,
        timing,
    )
    for attempt in family.ATTEMPTS
)
