"""A finished run in which draws were paid for, with a choice of plan and provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pcevolve_client.budget.ledger import Account, Paid
from pcevolve_client.egress.transport import Transport
from pcevolve_client.evolve import Pool
from pcevolve_client.methods import method
from pcevolve_client.plan import PublicPlan
from pcevolve_client.release import Choice, Chosen, Query, Receipt
from support.runs import SmallRun, small_plan


@dataclass(frozen=True)
class LastOne:
    """A judge that pays the plan's price and always takes the class's last candidate."""

    plan: PublicPlan
    account: Account

    def release(self, query: Query, pool: Pool) -> Receipt:
        """See ``Judge.release``."""
        events = method(self.plan.method).planned(self.plan)[query.iteration]
        return self.account.pay(query, events, lambda: self._last(pool))

    def _last(self, pool: Pool) -> Paid:
        last = ((label, pool.candidates[label][-1]) for label in self.plan.labels)
        return Paid(tuple(Choice(label, (Chosen(one.id, one.digest),)) for label, one in last))


def paid_run(root: Path, plan: PublicPlan, provider: Transport | None = None) -> Path:
    """Carry out a whole run through the real parts."""
    run = SmallRun.open(root, plan, provider)
    run.judge = LastOne(plan, run.account)
    run.finish()
    run.close()
    return root


@pytest.fixture
def finished(tmp_path: Path) -> Callable[..., Path]:
    """Make a finished ``pcevolve`` run; keywords change its plan."""

    def make(provider: Transport | None = None, **changes: object) -> Path:
        return paid_run(tmp_path / "run", small_plan(**{"method": "pcevolve", **changes}), provider)

    return make
