"""Every attempt against the gate."""

from __future__ import annotations

from leaks.attempts import Attempt
from leaks.families import across_runs, calls, contents, order, receipts, timing

FAMILIES = (contents, receipts, calls, order, across_runs, timing)
CORPUS: tuple[Attempt, ...] = tuple(attempt for family in FAMILIES for attempt in family.ATTEMPTS)
