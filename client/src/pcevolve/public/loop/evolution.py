"""The evolution loop (PCEvolve, Algorithm 1; Private Evolution, Algorithm 1). It sees public types only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol, TypeAlias

from pcevolve.public.calls import Call
from pcevolve.public.loop.lineage import Identify, IsEnough, Judge, Lineage, Pool, Population, make_pool
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Prototype, PublicEcho, Query, Receipt, list_start


@dataclass(frozen=True)
class Evolved:
    """The outcome of a run.

    Attributes:
        populations: The population of every iteration, the initial one first.
        dataset: The synthetic dataset; no two items show the same, in any class.
        pools: The pool of each release, by its iteration.
        ended_by: The candidates after which the run ended early; see ``Lineage.find_end``.
    """

    populations: tuple[Population, ...]
    dataset: Population
    receipts: tuple[Receipt, ...]
    pools: Mapping[int, Pool]
    ended_by: Pool | None = None


Ask: TypeAlias = tuple[Call, Prototype | PublicEcho | None]
"""A call of the plan, and the candidate that it varies, with the reason why that may be sent back.

A receipt chose the candidate, or the plan itself names it; None for text-to-image.
"""


class UntrustedGenerator(Protocol):
    """The untrusted generative model behind an API (RANDOM_API and VARIATION_API of the papers).

    Callers pass no prompt and no image: both follow from the public plan and from what the provider had sent.
    """

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Return the answers to the calls of one round, in their order: ``call.count`` new candidates each.

        Args:
            asks: Calls that do not depend on each other's answers, so that several may run at once.
        """
        ...


class Watcher(Protocol):
    """A progress callback without influence on the run; it learns only what the provider learns too."""

    def generated(self, call: Call) -> None: ...

    def released(self, receipt: Receipt) -> None: ...


def evolve(
    plan: PublicPlan,
    generator: UntrustedGenerator,
    judge: Judge,
    watcher: Watcher,
    identify: Identify,
    is_enough: IsEnough = lambda pool: True,
) -> Evolved:
    """Run the plan; a paid release always ends in a dataset, whatever the provider sends afterwards.

    Args:
        identify: Outputs of a class with equal identity are one candidate, and none is in the dataset twice.
        is_enough: After the first release, rounds end when too little came; see ``Lineage.find_end``.
    """
    return _Evolution(plan, generator, judge, watcher, Lineage(plan, identify, is_enough)).run()


@dataclass(frozen=True)
class _Evolution:
    plan: PublicPlan
    generator: UntrustedGenerator
    judge: Judge
    watcher: Watcher
    lineage: Lineage

    def run(self) -> Evolved:
        """Run every round and make the dataset."""
        plan, lineage = self.plan, self.lineage
        self._populate(0)
        while (iteration := lineage.find_next()) is not None:
            self._release(iteration)
            if 0 < iteration <= plan.method.iterations:
                self._populate(iteration)
        ended = lineage.find_end()
        if ended is None and not plan.selects:
            self._answer(plan.extensions())
        receipts = tuple(lineage.receipts)
        return Evolved(lineage.populations(), lineage.dataset(), receipts, lineage.pools, ended)

    def _populate(self, iteration: int) -> None:
        """Make a population, and look ahead on it."""
        self._answer(self.plan.round(iteration))
        self._answer(self.plan.lookaheads(iteration))

    def _release(self, iteration: int) -> None:
        pool, query = self.lineage.pool(iteration), Query(self.plan.run_id, iteration)
        # The public half comes first, outside of the padded private section, so that its length reveals
        # nothing.
        self.judge.show(query, pool)
        receipt = self.judge.release(query, pool)
        self.watcher.released(receipt)
        self.lineage.receipts.append(receipt)

    def _answer(self, calls: Iterable[Call]) -> None:
        asks = [(call, self.lineage.source(call)) for call in calls]
        for (call, _), made in zip(asks, self.generator.answers(asks), strict=True):
            self.lineage.note(call, made)
            self.watcher.generated(call)


def pool_last(plan: PublicPlan, evolved: Evolved, identify: Identify) -> Pool:
    """Return the last population as a pool, with its sources if a release was the start."""
    last, start = evolved.populations[-1], list_start(plan)
    known = {each.id: each.digest for each in chain(*start.values())}
    sources = {each.id: known[each.parent] for each in chain(*last.values()) if each.parent in known}
    return make_pool([last], identify, sources=sources)
