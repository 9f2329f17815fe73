"""The runner's side of the pipe: sends requests of loop and gate to the keeper, and records the keeper's releases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import ValidationError

from pcevolve.errors import REPORTED_ELSEWHERE, KeeperGoneError, ProtocolError, rebuild_error
from pcevolve.public import protocol
from pcevolve.public.loop.evolution import Ask, UntrustedGenerator
from pcevolve.public.loop.lineage import Judge, Pool
from pcevolve.public.plan import PublicPlan
from pcevolve.public.processes.pipe import GoneError, Pipe, PipeError
from pcevolve.public.protocol import Message, Refused
from pcevolve.public.release import Candidate, Query, Receipt
from pcevolve.wire.egress.gate import Gate

Answer = TypeVar("Answer", bound=Message)
GONE = "the keeper of the private data ended during the run: everything paid for is in the ledger"


class Remote:
    """A private side in another process; its refusals are raised here as errors of the same kind."""

    def __init__(self, pipe: Pipe, tell_begun: Callable[[], None] = lambda: None) -> None:
        """Use the process at the other end of a pipe; ``tell_begun`` is called when the run is in the ledger."""
        self._pipe, self._tell_begun = pipe, tell_begun

    def _send(self, asked: Message) -> None:
        try:
            self._pipe.send(type(asked).__name__.lower(), asked.model_dump_json())
        except GoneError:
            # The other side may have sent an error before it ended.
            self._receive(protocol.Done)
            raise KeeperGoneError(GONE) from None

    def _ask(self, asked: Message, kind: type[Answer]) -> Answer:
        self._send(asked)
        return self._receive(kind)

    def _receive(self, kind: type[Answer]) -> Answer:
        try:
            name, body = self._pipe.receive()
            if name == "refused":
                raise rebuild_error(Refused.model_validate_json(body).kind, REPORTED_ELSEWHERE)
            if name != kind.__name__.lower():
                raise ProtocolError(f"the keeper answered {name[:20]!a} where {kind.__name__} was requested")
            return kind.model_validate_json(body)
        except GoneError:
            raise KeeperGoneError(GONE) from None
        except (PipeError, ValidationError):
            raise ProtocolError("the keeper sent something that is not a message of the protocol") from None


class RemoteKeeper(Remote):
    def prepare(self, asked: protocol.Prepare) -> protocol.Prepared:
        return self._ask(asked, protocol.Prepared)

    def settle(self, statement: protocol.Settle) -> protocol.Settled:
        return self._ask(statement, protocol.Settled)

    def begin(self, asked: protocol.Begin) -> protocol.Begun:
        begun = self._ask(asked, protocol.Begun)
        self._tell_begun()
        return begun

    def compare(self, asked: protocol.Compare) -> protocol.Compared:
        return self._ask(asked, protocol.Compared)

    def made(self, outputs: protocol.Made) -> None:
        self._send(outputs)

    def show(self, asked: protocol.Show) -> protocol.Shown:
        return self._ask(asked, protocol.Shown)

    def release(self, asked: protocol.Release) -> protocol.Released:
        return self._ask(asked, protocol.Released)

    def assess(self, asked: protocol.Assess) -> protocol.Assessed:
        return self._ask(asked, protocol.Assessed)

    def finish(self, result: protocol.Finish) -> protocol.Done:
        return self._ask(result, protocol.Done)

    def close(self, asked: protocol.Close) -> None:
        """See ``Close``; a keeper that has ended is ignored."""
        with suppress(ProtocolError):
            self._send(asked)


@dataclass
class AskingJudge:
    """A judge that has the keeper do its work, and stores the keeper's receipts for the gate.

    Attributes:
        head: Returns the digest of the transcript so far.
        paid: Receipts by iteration.
    """

    keeper: protocol.PrivateSide
    head: Callable[[], str]
    paid: dict[int, Receipt] = field(default_factory=dict)
    _measured: dict[int, bytes] = field(default_factory=dict)

    def begin(self, plan: PublicPlan) -> None:
        """Have the keeper enter the run in the ledger; store the receipts so far."""
        begun = self.keeper.begin(protocol.Begin(plan=protocol.digest_plan(plan)))
        self.paid = {each.iteration: each for each in begun.receipts}

    def show(self, query: Query, pool: Pool) -> None:
        """Have the keeper do the public part of its work, on the same candidates as in this pool."""
        self.keeper.show(protocol.Show(iteration=query.iteration))

    def release(self, query: Query, pool: Pool) -> Receipt:
        released = self.keeper.release(protocol.Release(iteration=query.iteration, head=self.head()))
        self.paid[query.iteration] = released.receipt
        self._measured[query.iteration] = released.measurement
        return released.receipt

    def is_committed(self, receipt: Receipt) -> bool:
        """True if the keeper sent exactly this receipt."""
        return self.paid.get(receipt.iteration) == receipt

    def read_measured(self, iteration: int) -> bytes:
        """Return what a release measured; empty for a release that was not requested."""
        return self._measured.get(iteration, b"")

    def read_answers(self, _iteration: int) -> bytes:
        """Return the owners' answers; empty, because there is one owner."""
        return b""

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        return tuple(self.paid[each] for each in sorted(self.paid))


@dataclass(frozen=True)
class TellingGenerator:
    """A generator that forwards each answer to the keeper at once, so that API and keeper work at the same time."""

    generator: UntrustedGenerator
    keeper: protocol.PrivateSide

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        for (call, _), made in zip(asks, self.generator.answers(asks), strict=True):
            self.keeper.made(protocol.Made(slot=call.slot, digests=tuple(each.digest for each in made)))
            yield made


@dataclass(frozen=True)
class RecordingJudge:
    """Wraps a judge and records its receipts.

    ``require_usable`` raises if the provider sent too few usable outputs for a choice. It is called before
    every new release.
    """

    judge: Judge
    gate: Gate
    require_usable: Callable[[Pool], None]

    def show(self, query: Query, pool: Pool) -> None:
        """Have the judge do its public work for a new release (``UnusableError`` if too few outputs are usable)."""
        if not self.gate.has_receipt(query.iteration):
            self.require_usable(pool)
            self.judge.show(query, pool)

    def release(self, query: Query, pool: Pool) -> Receipt:
        receipt = self.judge.release(query, pool)
        self.gate.record_receipt(receipt)
        return receipt
