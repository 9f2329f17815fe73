"""The gate: the one door through which bytes leave, and the run's ``Generator``.

It is told which call of the plan is next and what the call varies, and builds the request itself: the rulebook says
which bytes, a dialect spells them, the address says where to. No method takes bytes, a prompt or a request. The gate
waits for a request's turn, hands it to an ``Exchange`` that puts it on record and sends it, and names what comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pcevolve.egress.allowance import Allowance, Meter
from pcevolve.egress.exchange import Exchange
from pcevolve.egress.lanes import Lanes, Ready, Wait
from pcevolve.egress.links import of_bearable_size
from pcevolve.egress.pace import Pace
from pcevolve.egress.policy import Policy, Source
from pcevolve.egress.retry import Patience
from pcevolve.egress.transport import Address, Outgoing, Transport
from pcevolve.errors import (
    EgressError,
    ProviderRefusedError,
    ProviderReplyError,
    TranscriptError,
    UnlistedHostError,
)
from pcevolve.providers.dialect import Dialect
from pcevolve.public.calls import Call
from pcevolve.public.fields import Extension
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Prototype, PublicEcho, Receipt
from pcevolve.public.usefulness import Assessment
from pcevolve.transcript.log import Transcript
from pcevolve.transcript.records import (
    BALANCE_SLOT,
    GREETING_SLOT,
    TRIAL_SLOT,
    Answered,
    Extended,
    Finished,
    Opened,
    Planned,
    Received,
    Released,
    Way,
    link_slot,
)
from pcevolve_shared import images


class Rewriter(NamedTuple):
    """The second provider of a run that rewords prompts, as its gate reaches it.

    Attributes:
        address: Where it is.
        transport: To there, and to nowhere else.
        meter: Counts what it is asked for, within limits of its own.
    """

    address: Address
    transport: Transport
    meter: Meter

    @property
    def way(self) -> Way:
        """The way there, as the record has it."""
        return Way(api=self.address.base_url, authority=self.address.route.authority)


class Gate:
    """``Generator`` over HTTP that lets nothing out but what the plan and the record give."""

    def __init__(
        self,
        transcript: Transcript,
        dialect: Dialect,
        address: Address,
        transport: Transport,
        patience: Patience,
        pace: Pace | None = None,
        meter: Meter | None = None,
        rewriter: Rewriter | None = None,
    ) -> None:
        self._transcript = transcript
        self._dialect = dialect
        self._address = address
        self._patience = patience
        self._pace = pace or Pace()
        self._meter = meter or Meter(Allowance(), dialect, transcript)
        self._exchange = Exchange(transcript, dialect, address, transport, self._pace, self._meter)
        self._rewriter = rewriter
        self._rewording = None if rewriter is None else self._exchange.beside(*rewriter)
        self._policy = Policy(dialect, address, transcript.bodies.file, rewriter and rewriter.address)
        self._answers: dict[str, tuple[Candidate, ...]] = {}
        self._round: int | None = None
        self._recorded: dict[int, Receipt] = {}
        self._measured: Callable[[int], bytes] = lambda iteration: b""
        self._lanes = Lanes(1, self._abandon)

    def hello(self, run_id: str) -> bytes:
        """Ask who is there; the same request for everybody. Answers from the record when there is one.

        Returns:
            The answer; empty where the run begins without a greeting.

        Raises:
            EgressError: The run is on record with another API.
        """
        opened = Opened(
            run_id=run_id,
            api=self._address.base_url,
            dialect=self._dialect.name,
            greets=self._address.greets,
            authority=self._address.route.authority,
            proxy=self._address.route.proxy,
            rewriter=self._rewriter and self._rewriter.way,
        )
        if not self._transcript.entries:
            self._transcript.append(opened)
        elif self._transcript.entries[0].record != opened:
            raise EgressError("this run is on record with another API: start a new one with another --out")
        if not self._address.greets:
            return b""
        for known in self._transcript.answers(GREETING_SLOT):
            return self._transcript.bodies.get(known.body)
        return self._exchange.answered(GREETING_SLOT, self._policy.greeting(), self._patience.briefly()).body

    def balance(self) -> float | None:
        """Ask what is left on the account, where the API can be asked; None if it does not say.

        Asked before the plan is on record and never again: a run that is continued is not new.

        Raises:
            EgressError: The plan is fixed: whether one asks in the middle of a run would tell something.
        """
        self._require_beginning()
        question = self._policy.balance_request()
        if question is None or self._transcript.plan() is not None:
            return None
        try:
            answer = self._exchange.answered(BALANCE_SLOT, question, self._patience.briefly())
            return self._dialect.balance(answer.body)
        except (ProviderRefusedError, ProviderReplyError):  # it is only a courtesy
            return None

    def takes_several(self, model: str) -> bool:
        """Ask for two texts at once, where only that tells whether a request may ask for several.

        Asked before the plan is on record, which depends on it, and once.

        Raises:
            EgressError: The plan is fixed.
            ProviderError: No answer, or a refusal that cannot be about their number.
        """
        self._require_beginning()
        question = self._policy.trial(model)
        if question is None:
            return True
        if self._trial() is None:
            try:
                self._exchange.answered(TRIAL_SLOT, question, self._patience)
            except ProviderRefusedError:
                if self._trial() is None:
                    raise
        answer = self._trial()
        if answer is None or not answer.succeeded:
            return False
        return self._dialect.takes_several(self._transcript.bodies.get(answer.body))

    def _trial(self) -> Answered | None:
        """The answer on record that tells whether several may be asked for."""
        answers = (entry.record for entry in self._transcript.entries if isinstance(entry.record, Answered))
        return next((each for each in answers if each.slot == TRIAL_SLOT and each.tells_number), None)

    def begin(
        self,
        plan: PublicPlan,
        committed: Callable[[Receipt], bool],
        measured: Callable[[int], bytes],
    ) -> None:
        """Fix the plan; a resumed run must have the one on record.

        Args:
            plan: Says what will be sent.
            committed: Asks the ledger whether it has committed exactly this receipt.
            measured: What the paid measurement of a round released; goes on record with its receipt.

        Raises:
            EgressError: Another plan is on record, or a receipt that the ledger does not know, or this gate has begun:
                who knows what was paid for cannot change.
        """
        known = self._transcript.plan()
        if plan.extended or (known is not None and known.extended):
            raise EgressError("this run was extended after it was finished: pcevolve extend goes on with it")
        if known not in (None, plan):
            raise EgressError("this run is on record with another plan: start a new one with another --out")
        self._require_beginning()
        if known is None:
            self._transcript.append(Planned(plan=plan))
        self._measured = measured
        self._fix(plan, committed)

    def extend(self, number: int, extension: Extension, committed: Callable[[Receipt], bool]) -> PublicPlan:
        """Go on with a finished run: more variations of what it released, and of nothing else.

        It is on record before the first request that it allows; one that was cut off goes on where it was.

        Args:
            number: Which extension of the run it is, from 1.
            extension: What is asked for.
            committed: Asks the ledger whether it has committed exactly this receipt.

        Returns:
            The plan with this extension.

        Raises:
            EgressError: The run is unfinished, another extension is due, a receipt on record was never paid for, or
                this gate has begun.
        """
        self._require_beginning()
        self._require_paid(committed)
        known = self._transcript.plan()
        done = isinstance(self._transcript.entries[-1].record, Finished)
        if known is not None and done and len(known.extended) == number - 1:
            self._transcript.append(Extended(extension=extension))
            known = self._transcript.plan()
        if known is None or known.extended[-1:] != (extension,) or len(known.extended) != number:
            raise EgressError("the run, or another extension of it, is unfinished: go on with that first")
        self._fix(known, committed)
        return known

    def _fix(self, plan: PublicPlan, committed: Callable[[Receipt], bool]) -> None:
        """Take a plan that is on record, and make sure that every receipt on record was paid for."""
        self._policy.fix(plan, committed)
        for entry in self._transcript.entries:
            if isinstance(entry.record, Released):
                self._policy.require_committed(entry.record.receipt)
        for exchange in self._exchanges:
            exchange.meter.fix(plan)
        self._lanes = Lanes(plan.at_once, self._abandon, self._exchange.stopping)
        if plan.at_once > 1:
            self._patience = replace(self._patience, sleep=self._lanes.pause)

    def _require_paid(self, committed: Callable[[Receipt], bool]) -> None:
        """Refuse to put anything behind receipts that nobody paid for."""
        for entry in self._transcript.entries:
            if isinstance(entry.record, Released) and not committed(entry.record.receipt):
                where = f"iteration {entry.record.receipt.iteration}"
                raise EgressError(
                    f"the ledger knows no receipt for {where}: is it the one that the run began with?"
                )

    def answers(self, asks: Sequence[tuple[Call, Source]]) -> Iterator[tuple[Candidate, ...]]:
        """Send what calls of one round give, several at once if the plan says so, and name what comes back.

        A call that varies an image sends that image back, as it came; its receipt, if it has one, goes on record
        before the first request that it allows. A call that was answered before is answered from the record; nothing
        is sent. When the last call of the plan is answered, all connections are closed: how long the client works
        after that is nobody's to see.

        Args:
            asks: Calls whose turn it is, in the order of the plan, each with the candidate that rulebook and record
                name for it and the reason that they give, if it varies one; the bytes are the gate's own.

        Raises:
            EgressError: The plan has no such call now, or no reason lets this candidate leave; nothing was sent.
            ProviderError: No usable answer.
            TranscriptError: The stored bytes are no longer what the API had sent; nothing was sent.
        """
        return self._lanes.answers(asks, lambda ask: self._policy.may_begin(ask[0]), self._begin, self._end)

    def create(self, call: Call) -> tuple[Candidate, ...]:
        """Text-to-image: what a single call brings; as ``answers``."""
        (made,) = self.answers([(call, None)])
        return made

    def vary(self, call: Call, source: Prototype | PublicEcho) -> tuple[Candidate, ...]:
        """Image-to-image: what a single call brings; as ``answers``."""
        (made,) = self.answers([(call, source)])
        return made

    @contextmanager
    def private_section(self) -> Iterator[None]:
        """Enclose private work: it takes whole ticks of the schedule, and any time once nothing can be sent."""
        if self._exchange.closed:
            yield
            return
        with self._pace.section():
            yield

    def has_receipt(self, iteration: int) -> bool:
        """True if the release of an iteration is on record."""
        released = (entry.record for entry in self._transcript.entries if isinstance(entry.record, Released))
        return any(record.receipt.iteration == iteration for record in released)

    def record_receipt(self, receipt: Receipt) -> None:
        """Put a committed receipt on record, with what was measured for it; one that is on record stays as it is.

        Raises:
            EgressError: The ledger does not know it.
        """
        self._policy.require_committed(receipt)
        if self._recorded.get(receipt.iteration) == receipt:
            return
        if not self._transcript.has(receipt):
            self._append(receipt)
        self._recorded[receipt.iteration] = receipt

    def _append(self, receipt: Receipt) -> None:
        with self._exchange.recording:
            measured = receipt.measured and self._transcript.bodies.keep(self._measured(receipt.iteration))
            if measured != receipt.measured:
                raise EgressError(
                    f"the ledger holds another measurement than the receipt of {receipt.iteration} names"
                )
            self._transcript.append(Released(receipt=receipt))

    def finish(self, assessment: Assessment | None = None) -> None:
        """Close the record.

        Args:
            assessment: What was found about the dataset's use, from what is on record.

        Raises:
            EgressError: Where a run ends would tell something, so it ends where the plan does.
        """
        if not self._policy.complete:
            raise EgressError("the record cannot be closed: not all of the plan was carried out")
        if not isinstance(self._transcript.entries[-1].record, Finished):
            self._transcript.prune()
            self._transcript.append(Finished(sent=len(self._transcript.sent()), assessment=assessment))

    def _begin(self, ask: tuple[Call, Source]) -> Ready[tuple[Candidate, ...]] | Wait[list[bytes]]:
        """Answer a call out of memory or from the record, or announce what the policy builds for it."""
        call, source = ask
        outgoing = self._policy.request_for(call, source)
        if call.slot in self._answers:
            return Ready(self._answers[call.slot])
        if isinstance(source, Prototype):
            self.record_receipt(source.receipt)
        made = self._replay(call)
        opens_round, self._round = call.iteration != self._round, call.iteration
        if made is not None:
            return Ready(self._end(ask, made))
        self._pace.await_turn(opens_round)
        self._exchange_of(call).announce(call.slot, outgoing)
        return partial(self._send, call, outgoing)

    def _send(self, call: Call, announced: Outgoing) -> list[bytes]:
        """Send an announced request and return the images that it brings, or the rewording of a prompt."""
        exchange = self._exchange_of(call)
        try:
            answer = exchange.answered(call.slot, announced, self._patience, announced=True)
        except (ProviderRefusedError, ProviderReplyError):
            if (spared := self._spare(call)) is None:
                raise
            return spared
        return self._read_images(call, answer.body)

    @property
    def _exchanges(self) -> tuple[Exchange, ...]:
        """With the API, and with the rewriter if there is one."""
        return (self._exchange,) if self._rewording is None else (self._exchange, self._rewording)

    def _exchange_of(self, call: Call) -> Exchange:
        """That with the rewriter for a rewording, which the policy builds for no run without one."""
        return self._rewording if call.purpose == "reword" and self._rewording else self._exchange

    def _abandon(self) -> None:
        """End what is under way without its answer."""
        for exchange in self._exchanges:
            exchange.transport.close()

    def _spare(self, call: Call) -> list[bytes] | None:
        """Return what a call brought whose last attempt failed, where that ends no run; see ``Policy.spared``."""
        outcome = self._transcript.outcome(call.slot)
        if outcome is None:
            return None
        body = self._transcript.bodies.get(outcome.body) if isinstance(outcome, Answered) else b""
        return self._policy.spared(call, outcome, body)

    def _end(self, ask: tuple[Call, Source], made: list[bytes]) -> tuple[Candidate, ...]:
        """Name what a call brought, and remember it."""
        call, source = ask
        named = self._store(call, made, _id_of(source))
        self._policy.note_answer(call, named)
        self._answers[call.slot] = named
        self._close_after_the_last()
        return named

    def _close_after_the_last(self) -> None:
        """Close all connections once the plan's last call is answered; nothing is sent from then on."""
        if self._policy.complete:
            for exchange in self._exchanges:
                exchange.close()

    def _require_beginning(self) -> None:
        if self._policy.fixed:
            raise EgressError("the plan of this run is fixed: what comes before it cannot be done again")

    def _replay(self, call: Call) -> list[bytes] | None:
        """Return what a recorded answer brought; an unusable one does not count and is asked for again.

        Raises:
            TranscriptError: A usable one was on record, for its outputs are, and there is none now: it is not asked
                for again, for the call was answered.
        """
        for answer in self._transcript.answers(call.slot):
            try:
                return self._read_images(call, self._transcript.bodies.get(answer.body))
            except UnlistedHostError:  # another answer would point there too
                raise
            except (ProviderReplyError, ProviderRefusedError):  # links die after a while
                continue
        if self._transcript.outputs(call.slot) is not None:
            if (spared := self._spare(call)) is not None:
                return spared
            raise TranscriptError(f"the answer {call.slot} whose outputs are on record is there no more")
        return None

    def _read_images(self, call: Call, body: bytes) -> list[bytes]:
        """The images of an answer, wherever they are, if the model that was asked for made them."""
        links = [self._policy.link(link) for link in self._policy.links(call, body)]
        fetched = [self._fetch(call, place, link) for place, link in enumerate(links)]
        return self._policy.outputs(call, body, fetched)

    def _fetch(self, call: Call, place: int, link: Outgoing) -> bytes:
        """Fetch the image behind a link, from the record if it was fetched before.

        Raises:
            ProviderReplyError: It is not on record, and the call was answered without it: nothing is sent for it now.
        """
        slot = link_slot(call.slot, place)
        known = self._transcript.answer_from(slot, link.url)
        if known is not None:
            return of_bearable_size(self._transcript.bodies.get(known.body))
        if self._transcript.outputs(call.slot) is not None:
            raise ProviderReplyError("the call was answered without what lies behind this link")
        self._pace.await_turn(opens_round=False)
        return of_bearable_size(self._exchange.answered(slot, link, self._patience).body)

    def _store(self, call: Call, made: list[bytes], parent: str | None) -> tuple[Candidate, ...]:
        """Store what came back, on record, and give it its names."""
        with self._exchange.recording:
            digests = tuple(self._transcript.bodies.keep(data) for data in made)
            known = self._transcript.outputs(call.slot)
            if known not in (None, digests):
                raise TranscriptError(
                    f"the answer {call.slot} on record brought other outputs than it does now"
                )
            if known is None:
                self._transcript.append(Received(slot=call.slot, outputs=digests))
        return tuple(
            Candidate.received(call, index, parent, data, images.media_type_or_bytes(data))
            for index, data in enumerate(made)
        )


def _id_of(source: Source) -> str | None:
    """Name of what a call varied; None for text-to-image."""
    return None if source is None else source.candidate.id
