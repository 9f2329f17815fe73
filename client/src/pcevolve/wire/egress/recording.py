"""A judge whose receipts are recorded before anything is sent because of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pcevolve.public.lineage import Judge, Pool
from pcevolve.public.release import Query, Receipt
from pcevolve.wire.egress.gate import Gate


@dataclass(frozen=True)
class RecordingJudge:
    """Wraps a judge and records its receipts.

    ``require_usable`` raises if the provider sent too little for a choice; it comes before every new release.
    """

    judge: Judge
    gate: Gate
    require_usable: Callable[[Pool], None]

    def show(self, query: Query, pool: Pool) -> None:
        """Let the judge do its public work for a new release (``UnusableError`` before paying for too little)."""
        if not self.gate.has_receipt(query.iteration):
            self.require_usable(pool)
            self.judge.show(query, pool)

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Let the judge choose, and record its receipt."""
        receipt = self.judge.release(query, pool)
        self.gate.record_receipt(receipt)
        return receipt
