"""A finished run in which draws were paid for, by a judge that looks at nothing; for tests only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pcevolve_client.budget.ledger import Account, Paid
from pcevolve_client.egress.transport import Transport
from pcevolve_client.evolve import Pool
from pcevolve_client.methods import method
from pcevolve_client.plan import PublicPlan
from pcevolve_client.release import Choice, Chosen, Query, Receipt

from .runs import SmallRun

LOOK = (0.2, 0.7, 0.0, 0.9, 0.4, 0.6)


@dataclass(frozen=True)
class LastOne:
    """A judge that pays the plan's price and always takes the class's last candidates."""

    plan: PublicPlan
    account: Account

    def show(self, query: Query, pool: Pool) -> None:
        """See ``Judge.show``."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """See ``Judge.release``."""
        events = method(self.plan.method).planned(self.plan)[query.iteration]
        return self.account.pay(query, events, lambda: self._last(query, pool))

    def _last(self, query: Query, pool: Pool) -> Paid:
        if query.iteration == 0:
            return Paid((), values=LOOK)
        wanted = self.plan.wanted(query.iteration)
        last = {label: pool.candidates[label][-wanted:] for label in self.plan.labels}
        return Paid(
            tuple(
                Choice(label, tuple(Chosen(each.id, each.digest) for each in last[label])) for label in last
            )
        )


def paid_run(root: Path, plan: PublicPlan, provider: Transport | None = None) -> Path:
    """Carry out a whole run through the real parts."""
    run = SmallRun.open(root, plan, provider)
    run.judge = LastOne(plan, run.account)
    run.finish()
    run.close()
    return root
