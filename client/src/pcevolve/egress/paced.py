"""A judge on a schedule: public work in its own time, private work in whole ticks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pcevolve.egress.gate import Gate
from pcevolve.evolution import Judge, Pool
from pcevolve.public.release import Query, Receipt


@dataclass(frozen=True)
class PacedJudge:
    """Asks a judge in the gate's private sections; a receipt is on record before its section ends.

    Attributes:
        judge: Any; how long its ``release`` takes does not show.
        gate: Keeps the schedule and the record.
        require_usable: Raises where the provider sent too little for a choice; comes before every payment.
    """

    judge: Judge
    gate: Gate
    require_usable: Callable[[Pool], None]

    def show(self, query: Query, pool: Pool) -> None:
        """Look at the candidates and let the judge do its public work, unless the release is on record already.

        Raises:
            UnusableError: Too few candidates can be used; nothing is paid for.
        """
        if not self.gate.has_receipt(query.iteration):
            self.require_usable(pool)
            self.judge.show(query, pool)

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Let the judge choose in a private section, and put its receipt on record before the section ends."""
        with self.gate.private_section():
            receipt = self.judge.release(query, pool)
            self.gate.record_receipt(receipt)
        return receipt
