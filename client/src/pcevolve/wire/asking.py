"""The runner's side of the door: asks the keeper in the words of the loop and of the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pcevolve.public import protocol
from pcevolve.public.evolution import Ask, Generator
from pcevolve.public.lineage import Pool
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Query, Receipt


@dataclass
class AskingJudge:
    """A judge that asks the keeper, and remembers what was paid for, as the gate has to know.

    Attributes:
        head: Digest that stands for all that is on record by now.
        paid: Receipts by iteration.
    """

    keeper: protocol.PrivateSide
    head: Callable[[], str]
    paid: dict[int, Receipt] = field(default_factory=dict)
    _measured: dict[int, bytes] = field(default_factory=dict)

    def begin(self, plan: PublicPlan) -> None:
        """Have the run entered in the ledger, and learn what it was paid for so far."""
        begun = self.keeper.begin(protocol.Begin(plan=protocol.digest_plan(plan)))
        self.paid = {each.iteration: each for each in begun.receipts}

    def show(self, query: Query, pool: Pool) -> None:
        """Let the keeper do the public part of the work, on the pool that it makes of the same answers."""
        self.keeper.show(protocol.Show(iteration=query.iteration))

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Let the keeper choose and pay."""
        released = self.keeper.release(protocol.Release(iteration=query.iteration, head=self.head()))
        self.paid[query.iteration] = released.receipt
        self._measured[query.iteration] = released.measurement
        return released.receipt

    def is_committed(self, receipt: Receipt) -> bool:
        """True if the keeper said that exactly this was paid for."""
        return self.paid.get(receipt.iteration) == receipt

    def read_measured(self, iteration: int) -> bytes:
        """What a release measured; nothing for one that was not asked for."""
        return self._measured.get(iteration, b"")

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """All that was paid for, oldest first."""
        return tuple(self.paid[each] for each in sorted(self.paid))


@dataclass(frozen=True)
class TellingGenerator:
    """A generator of whose answers the keeper is told as they come, while the API works on the next ones."""

    generator: Generator
    keeper: protocol.PrivateSide

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """See ``Generator.answers``."""
        for (call, _), made in zip(asks, self.generator.answers(asks), strict=True):
            self.keeper.made(protocol.Made(slot=call.slot, digests=tuple(each.digest for each in made)))
            yield made
