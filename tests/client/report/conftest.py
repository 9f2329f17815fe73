"""A finished run in which draws were paid for, with a choice of plan and provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pcevolve_client.budget.ledger import Account, Cost
from pcevolve_client.egress.transport import Transport
from pcevolve_client.evolve import Population, evolve
from pcevolve_client.methods import method
from pcevolve_client.plan import PublicPlan
from pcevolve_client.providers import dialect
from pcevolve_client.providers.remote import RemoteGenerator
from pcevolve_client.publish import Release, publish
from pcevolve_client.release import Chosen, Query, Receipt
from support.runs import Silent, SmallRun, small_plan


@dataclass(frozen=True)
class LastOne:
    """A judge that pays the plan's price and always takes the class's last candidate."""

    plan: PublicPlan
    account: Account

    def release(self, query: Query, population: Population) -> Receipt:
        """See ``Judge.release``."""
        one = population[query.label][-1]
        price = method(self.plan.method).query_cost(
            self.plan.epsilon_budget, self.plan.iterations, len(self.plan.labels)
        )
        return self.account.pay(query, Cost("exponential", price), lambda: (Chosen(one.id, one.digest),))


def paid_run(root: Path, plan: PublicPlan, provider: Transport | None = None) -> Path:
    """Carry out a whole run through the real parts."""
    run = SmallRun.open(root, plan, provider)
    generator = RemoteGenerator(plan, dialect(plan.dialect), run.gate, run.transcript.bodies.file)
    history = evolve(plan, generator, LastOne(plan, run.account), Silent())
    run.gate.finish()
    facts = (run.account.receipts(), run.transcript.head, len(run.transcript.entries))
    publish(
        root / "release", Release(plan, method(plan.method), history[-1], *facts), run.transcript.bodies.file
    )
    run.close()
    return root


@pytest.fixture
def finished(tmp_path: Path) -> Callable[..., Path]:
    """Make a finished ``pcevolve`` run; keywords change its plan."""

    def make(provider: Transport | None = None, **changes: object) -> Path:
        return paid_run(tmp_path / "run", small_plan(**{"method": "pcevolve", **changes}), provider)

    return make
