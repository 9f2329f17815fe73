"""The gate: the only code that lets bytes leave; the run's ``UntrustedGenerator``.

The gate receives the next call of the plan and the images or texts that the call varies, and builds the
request itself. The rulebook determines the content, a dialect encodes it, and the address determines where
it is sent. No method takes bytes, a prompt or a request. The gate waits for a request's turn and passes it
to a ``RecordedSender``, which records and sends it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import Final

from pcevolve.errors import (
    EgressError,
    ProviderError,
    ProviderRefusedError,
    ProviderReplyError,
    ProviderUnreachableError,
)
from pcevolve.public.calls import Call
from pcevolve.public.loop.lineage import Lineage
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.assessed import AssessedFigures
from pcevolve.public.publish.usefulness import Assessment
from pcevolve.public.release import Candidate, Prototype, Receipt
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import (
    Finished,
    Planned,
    RecordedRelease,
)
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.allowance import Allowance, Meter
from pcevolve.wire.egress.exchange import RecordedSender
from pcevolve.wire.egress.losses import Brought, FinalLoss, LossCount
from pcevolve.wire.egress.pace import Pace, Ready, RequestWindow, Wait
from pcevolve.wire.egress.policy import Policy, Source
from pcevolve.wire.egress.questions import OpeningQuestions
from pcevolve.wire.egress.replies import Replies
from pcevolve.wire.egress.retry import LossNotice, Notice, RetryPolicy
from pcevolve.wire.egress.transport import Outgoing, Transport
from pcevolve.wire.providers.dialect import Dialect

CANCEL_SECONDS: Final = 5.0
"""Longest wait in seconds for answers to requests that end jobs, after a run was told to stop."""


class Gate:
    """An ``UntrustedGenerator`` over HTTP that sends only what the plan and the record justify."""

    def __init__(
        self,
        transcript: Transcript,
        dialect: Dialect,
        address: Address,
        transport: Transport,
        patience: RetryPolicy,
        pace: Pace | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._transcript = transcript
        self._patience = patience
        self._pace = pace or Pace()
        self._meter = meter or Meter(Allowance(), dialect, transcript)
        self._exchange = RecordedSender(transcript, dialect, address, transport, self._pace, self._meter)
        self._policy = Policy(dialect, address, transcript.bodies)
        self._replies = Replies(transcript, self._policy, self._exchange, self._pace, patience)
        self.questions = OpeningQuestions(
            transcript, dialect, address, self._policy, self._exchange, patience
        )
        self._answers: dict[str, tuple[Candidate, ...]] = {}
        self._held: dict[str, tuple[Call, Source]] = {}
        self._recorded: dict[int, Receipt] = {}
        self._measured: Callable[[int], bytes] = lambda iteration: b""
        self._answered: Callable[[int], bytes] = lambda iteration: b""
        self._lineage: Lineage | None = None
        self._window = RequestWindow(1, self._abandon)

    def begin(
        self,
        plan: PublicPlan,
        committed: Callable[[Receipt], bool],
        measured: Callable[[int], bytes],
        lineage: Lineage | None = None,
        answered: Callable[[int], bytes] = lambda iteration: b"",
    ) -> None:
        """Fix the plan; a resumed run must have the recorded plan.

        Args:
            committed: Returns whether the ledger has committed exactly this receipt.
            measured: Returns the paid measurement of a round, which is recorded with the receipt.
            lineage: An empty lineage, which decides from the answers whether the run ends early. The loop
                must not decide, because the provider sees when a run ends.
            answered: Returns several owners' answers for a release, which are recorded with it.

        Raises:
            EgressError: Another plan is on record, the ledger does not know a recorded receipt, or this
                gate has already begun, in which case the source of payments cannot change.
        """
        # Compared as a whole: a single changed word gives other requests, which the record could not explain.
        known = self._transcript.plan()
        if known not in (None, plan):
            raise EgressError(
                "the record of this run has a different plan: start a new run with another --out"
            )
        self._policy.require_beginning()
        if known is None:
            self._transcript.append(Planned(plan=plan))
        # Set after the plan is on record, so that nothing is answered for a plan that could still be refused.
        self._measured, self._lineage, self._answered = measured, lineage, answered
        self._fix(plan, committed)

    def _fix(self, plan: PublicPlan, committed: Callable[[Receipt], bool]) -> None:
        """Take a plan that is on record, and check that every receipt on record was paid for."""
        self._policy.fix(plan, committed)
        # At every start, so that a transcript with another ledger's receipts is refused before anything is
        # sent.
        for entry in self._transcript.entries:
            if isinstance(entry.record, RecordedRelease):
                self._policy.require_committed(entry.record.receipt)
        self._meter.fix(plan)
        self._losses = LossCount(plan)
        self._window = RequestWindow(plan.provider.at_once, self._abandon, self._exchange.stopping)
        if plan.provider.at_once > 1:
            # A thread that waits to retry must wake when another fails, or it would send after the run has
            # ended.
            report = self._report_unless_stopping(self._patience.report)
            self._patience = replace(self._patience, sleep=self._window.pause, report=report)
            self._replies.patience = self._patience

    def _report_unless_stopping(self, report: Callable[[Notice], None]) -> Callable[[Notice], None]:
        """Report retries, except those that will not happen because the run is stopping."""

        def report_while_running(notice: Notice) -> None:
            if not self._exchange.stopping.is_set():
                report(notice)

        return report_while_running

    def answers(self, asks: Sequence[tuple[Call, Source]]) -> Iterator[tuple[Candidate, ...]]:
        """Send the calls of one round, several at once if the plan allows, and name the outputs.

        A call that varies an image sends that image back unchanged. If the call depends on a receipt, the
        receipt is recorded before the first request that it allows. A call that was answered before is
        answered from the record, and nothing is sent. When the plan's last call is answered, all
        connections are closed, because the duration of the client's work after that must not be visible.

        A call that the API does not carry out has no outputs (``losses``). It is recorded as missing once
        another call of its class and round had outputs, or the round is over. If the run stops before that,
        the call is sent again later. If the given calls are only a part of a round, the call has no candidates
        yet.

        Args:
            asks: Calls in the plan's order, each with the candidate that it varies and the reason for
                sending this candidate, as in rulebook and record. The gate uses its own copy of the bytes.

        Raises:
            EgressError: The plan has no such call now, or no reason allows this candidate to be sent;
                nothing was sent.
            ProviderError: No usable answer came, for a reason that concerns more than one call; or too many
                calls failed.
            TranscriptError: The stored bytes differ from those that the API sent; nothing was sent.
        """
        # Yielded in the plan's order, whichever answer comes first: the loop must not depend on the
        # provider's speed.
        waiting = deque(call.slot for call, _ in asks)
        try:
            for _ in self._window.answers(
                asks, lambda ask: self._policy.may_begin(ask[0]), self._begin, self._end
            ):
                while waiting and waiting[0] in self._answers:
                    yield self._answers[waiting.popleft()]
        except KeyboardInterrupt:
            if self._window.most == 1:  # otherwise ``_abandon`` has cancelled them
                self._replies.cancel_all()
            raise
        except Exception:
            if self._policy.fixed:  # nothing is held before there is a plan
                self._losses.forget_held()
            self._policy.forget_held()
            self._held.clear()
            raise
        # Held calls have no candidates yet; the round continues without them.
        for slot in waiting:
            yield self._answers.get(slot, ())

    def create(self, call: Call) -> tuple[Candidate, ...]:
        """Return the outputs of a single call of the first population; see ``answers``."""
        (made,) = self.answers([(call, self._policy.find_start(call))])
        return made

    def has_receipt(self, iteration: int) -> bool:
        """True if the release of an iteration is on record."""
        released = (
            entry.record for entry in self._transcript.entries if isinstance(entry.record, RecordedRelease)
        )
        return any(record.receipt.iteration == iteration for record in released)

    def record_receipt(self, receipt: Receipt) -> None:
        """Record a receipt and its measurement, once (``EgressError`` if the ledger does not know it)."""
        self._policy.require_committed(receipt)
        # Several calls of a round depend on the same receipt.
        if self._recorded.get(receipt.iteration) == receipt:
            return
        if not self._transcript.has(receipt):
            self._append(receipt)
        self._recorded[receipt.iteration] = receipt

    def _append(self, receipt: Receipt) -> None:
        with self._exchange.recording:
            # The measurement is stored before the receipt that names it, so that no crash leaves a name
            # without its bytes.
            measured = receipt.measured and self._transcript.bodies.keep(self._measured(receipt.iteration))
            # Compared by digest: a keeper that lost its ledger must not put another measurement under an old
            # receipt.
            if measured != receipt.measured:
                raise EgressError(
                    "the measurement in the ledger differs from the one in the receipt of iteration "
                    f"{receipt.iteration}"
                )
            answers = self._answered(receipt.iteration)
            kept = self._transcript.bodies.keep(answers) if answers else None
            self._transcript.append(RecordedRelease(receipt=receipt, answers=kept))

    def finish(self, assessed: AssessedFigures | None = None) -> None:
        """Close the record with the assessment of the dataset, and close all connections.

        Raises:
            EgressError: Parts of the plan were not carried out, and the answers give no reason to end
                early.
        """
        # A closed record states that the run did all it had planned, so nothing could explain a missing
        # request.
        if not (self._policy.complete or self._is_over()):
            raise EgressError("the record cannot be closed, because the plan is not complete")
        self._exchange.close()
        if not isinstance(self._transcript.entries[-1].record, Finished):
            # Files without a line in the record belong to unused answers; an auditor could not explain them.
            self._transcript.prune()
            found = None if assessed is None else Assessment.of(assessed)
            self._transcript.append(Finished(sent=len(self._transcript.list_sent()), assessment=found))

    def _is_over(self) -> bool:
        """True if the plan's rule ends the run after the recorded answers and receipts."""
        lineage = self._lineage
        if lineage is None:
            return False
        for slot, made in self._answers.items():
            lineage.note(lineage.plan.calls[slot], made)
        # From the record alone, so that run and audit end at the same place.
        lineage.receipts[:] = self._recorded.values()
        return lineage.find_end() is not None

    def _begin(self, ask: tuple[Call, Source]) -> Ready[tuple[Candidate, ...]] | Wait[Brought]:
        """Answer a call from memory or the record; otherwise announce the request that the policy builds for it."""
        call, source = ask
        # This process tried the call and got nothing; the next start sends it again.
        if call.slot in self._held:
            return Ready(())
        outgoing = self._policy.request_for(call, source)
        if call.slot in self._answers:
            return Ready(self._answers[call.slot])
        # Recorded before the request that it allows, so that an auditor finds the reason first.
        if isinstance(source, Prototype):
            self.record_receipt(source.receipt)
        unsent = self._policy.varies_what_was_withheld(call)
        brought = Brought([b""] * call.count) if unsent else self._replies.replay(call)
        if brought is not None:
            return Ready(self._end(ask, brought))
        # Only if something will be sent: a call from the record takes no turn.
        self._pace.wait_before_request()
        # Recorded in the caller's thread, in the plan's order; another thread only waits for the answer.
        self._exchange.announce(call.slot, outgoing)
        return partial(self._send, call, outgoing)

    def _send(self, call: Call, announced: Outgoing) -> Brought:
        """Send an announced request; return its outputs, or the loss if the API does not carry it out."""
        try:
            self._exchange.obtain(call.slot, announced, self._patience, announced=True)
        except (ProviderRefusedError, ProviderReplyError, ProviderUnreachableError) as error:
            loss = self._policy.find_loss(self._transcript.outcomes(call.slot))
            if loss is None:
                raise
            return Brought([b""] * call.count, error, loss)
        return self._replies.finish(call)

    def _abandon(self) -> None:
        """Cancel the running jobs, then cut the requests in flight."""
        asking = Thread(target=self._replies.cancel_all, daemon=True)
        asking.start()
        try:
            # For a short time only, because an unreachable API must not keep anybody from stopping.
            asking.join(CANCEL_SECONDS)
        finally:
            self._exchange.transport.close()
            asking.join()

    def _end(self, ask: tuple[Call, Source], brought: Brought) -> tuple[Candidate, ...]:
        """Name and keep a call's outputs; hold the call while the API may still carry it out."""
        call, _ = ask
        if brought.error is not None and brought.loss is not None:
            # An error that may concern every request stops the run, before the budget is spent on missing
            # images.
            if not self._policy.is_borne(brought.loss):
                raise brought.error
            if brought.is_lost:
                self._hold(ask, brought.error, brought.loss)
            came = f"{sum(map(bool, brought.outputs))} of {call.count} arrived"
            self._patience.report(LossNotice(f"{call.slot} of class {call.label!r}: {came}: {brought.error}"))
            if brought.is_lost:
                return self._answers.get(call.slot, ())
        self._keep(ask, brought.outputs)
        self._settle(call, brought.outputs)
        return self._answers[call.slot]

    def _hold(self, ask: tuple[Call, Source], error: ProviderError, loss: FinalLoss) -> None:
        """Continue without a call's outputs (``ProviderRefusedError`` if too many are missing)."""
        call, _ = ask
        if why := self._losses.hold(call, loss):
            raise ProviderRefusedError(
                f"{error}; {why}: when the API works again, continue with --resume RUN"
            ) from error
        self._held[call.slot] = ask
        self._policy.note_held(call)
        self._settle(call, [])

    def _settle(self, call: Call, outputs: list[bytes]) -> None:
        """Record held calls as missing, once a later answer or the end of the round decides that."""
        for each in self._losses.list_settled(call, outputs):
            self._keep(self._held.pop(each.slot), [b""] * each.count)

    def _keep(self, ask: tuple[Call, Source], outputs: list[bytes]) -> None:
        call, source = ask
        # Stored before it is registered, so that after a crash in between the record answers the call.
        named = self._replies.store(call, outputs, None if source is None else source.candidate.id)
        self._policy.note_answer(call, named)
        self._losses.note(call, outputs)
        self._answers[call.slot] = named
        self._close_after_the_last()

    def _close_after_the_last(self) -> None:
        """Close all connections once the plan's last call is answered; nothing is sent from then on."""
        # At once, because an open connection would show how long the work after the last answer takes.
        if self._policy.complete:
            self._exchange.close()
