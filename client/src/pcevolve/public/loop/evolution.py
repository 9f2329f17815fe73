"""The evolution loop (PCEvolve, Algorithm 1; Private Evolution, Algorithm 1). It handles public types only."""

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
        dataset: The synthetic dataset. No two items have the same visible content, in any class.
        receipts: The receipts of all releases, in order.
        pools: The pool of each release, by its iteration.
        ended_by: The candidates that ended the run early, because they left too little to choose. Otherwise None.
    """

    populations: tuple[Population, ...]
    dataset: Population
    receipts: tuple[Receipt, ...]
    pools: Mapping[int, Pool]
    ended_by: Pool | None = None


Ask: TypeAlias = tuple[Call, Prototype | PublicEcho | None]
"""A call of the plan, and the candidate that it varies, with the reason why this candidate may be sent back.

Either a receipt chose the candidate or the plan itself names it. Text-to-image has None instead.
"""


class UntrustedGenerator(Protocol):
    """The untrusted generative model behind an API (RANDOM_API and VARIATION_API of the papers).

    Callers pass no prompt and no image. Both follow from the public plan and from what the provider sent before.
    """

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Return the answers to the calls of one round, in their order: ``call.count`` new candidates for each call.

        Args:
            asks: Calls that do not depend on each other's answers, so that several may run at once.
        """
        ...


class Watcher(Protocol):
    """A progress callback without influence on the run. It receives only what the provider knows too."""

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
    """Run the plan. A paid release always ends in a dataset, whatever the provider sends afterwards.

    Args:
        identify: Returns the identity of an output. Outputs of a class with equal identity count as one candidate,
            and the dataset contains each identity only once.
        is_enough: Returns whether enough candidates came. If not, no further round begins, unless nothing has been
            released yet (see ``Lineage.find_end``).
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
        """Make a population, and its lookahead variations."""
        self._answer(self.plan.round(iteration))
        self._answer(self.plan.lookaheads(iteration))

    def _release(self, iteration: int) -> None:
        pool, query = self.lineage.pool(iteration), Query(self.plan.run_id, iteration)
        # The public part comes first, outside the padded private section, so that its duration reveals nothing.
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
    """Return the last population as a pool. If the run starts from a release, add the sources of the candidates."""
    last, start = evolved.populations[-1], list_start(plan)
    known = {each.id: each.digest for each in chain(*start.values())}
    sources = {each.id: known[each.parent] for each in chain(*last.values()) if each.parent in known}
    return make_pool([last], identify, sources=sources)
