"""A judge on a schedule: public work in its own time, private work in whole ticks."""

from __future__ import annotations

from dataclasses import dataclass

from pcevolve.egress.gate import Gate
from pcevolve.evolve import Judge, Pool
from pcevolve.public.release import Query, Receipt


@dataclass(frozen=True)
class PacedJudge:
    """Asks a judge in the gate's private sections; a receipt is on record before its section ends.

    Attributes:
        judge: Any; how long its ``release`` takes does not show.
        gate: Keeps the schedule and the record.
    """

    judge: Judge
    gate: Gate

    def show(self, query: Query, pool: Pool) -> None:
        """Let the judge do its public work, unless the release is on record already and needs none."""
        if not self.gate.has_receipt(query.iteration):
            self.judge.show(query, pool)

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Let the judge choose in a private section, and put its receipt on record before the section ends."""
        with self.gate.private_section():
            receipt = self.judge.release(query, pool)
            self.gate.record_receipt(receipt)
        return receipt
