"""A first round, its payment and what follows."""

from __future__ import annotations

from pcevolve.keeper.ledger.ledger import Paid
from pcevolve.public.privacy import Event
from pcevolve.public.release import Candidate, Choice, Chosen, Prototype, Query
from support.runs import SmallRun, vary


def first_round(run: SmallRun) -> dict[str, tuple[Candidate, ...]]:
    made = dict.fromkeys(run.plan.labels, ())
    for call in run.plan.round(0):
        made[call.label] += run.gate.create(call)
    return made


def pay(run: SmallRun, candidate: Candidate, iteration: int = 1):
    choice = Choice(candidate.label, (Chosen(candidate.id, candidate.digest),))
    return run.account.pay(Query(run.plan.run_id, iteration), (Event("uniform"),), lambda: Paid((choice,)))


def vary_first(run: SmallRun, prototype: Prototype) -> tuple[Candidate, ...]:
    return vary(run.gate, next(iter(run.plan.round(1))), prototype)
