"""A small run that has come, honestly, to the moment at which somebody tries to smuggle something out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pcevolve.keeper.ledger.ledger import Paid
from pcevolve.public.calls import Call
from pcevolve.public.evolution import Ask, Pool, evolve
from pcevolve.public.privacy import Event
from pcevolve.public.release import Candidate, Choice, Chosen, Prototype, PublicEcho, Query, Receipt
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.policy import Source
from pcevolve.wire.egress.transport import Outgoing
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.dialect import Dialect
from support.provider import FakeProvider, ok
from support.runs import ADDRESS, Silent, SmallRun, small_plan, vary

MOMENTS = {
    "create-1": "i000/c000/n000000",
    "create-2": "i000/c001/n000002",
    "look-0": "l000/c000/n000001",
    "choose-1": "release 1",
    "vary-1": "i001/c000/n000000",
    "vary-1-second": "i001/c000/n000002",
    "look-1": "l001/c001/n000000",
    "vary-2": "i002/c000/n000000",
    "vary-2-other-class": "i002/c001/n000002",
    "extend": "x002/c000/n000000",
    "all-sent": "never",
}
"""The call, or the release, before which the honest run stops."""
CREATES = ("create-1", "create-2")
VARIES = ("vary-1", "vary-1-second", "vary-2", "vary-2-other-class")
ECHOES = ("look-0", "look-1", "extend")
CALLS = (*CREATES, *VARIES, *ECHOES)

SIZES = {"candidates": 4, "initial": 4, "prototypes": 2, "lookahead": 1, "more": 1}
"""Of every world's plan."""
WORDED: dict[str, object] = {
    "vary_by": "prompt",
    "strengths": (),
    "prompts": (("a cut", "a long cut"), ("good leather", "better leather")),
}
"""In a plan: no image goes back, the prompt by which it was made does."""
WAYS: dict[str, dict[str, object]] = {"images": {}, "prompts": WORDED}
"""What goes back in a plan."""


class InTurn:
    """A generator that answers one call after the other, by ``create`` and ``vary``, which its heirs have."""

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        for call, source in asks:
            yield self.create(call) if source is None else self.vary(call, source)


class _ReachedError(Exception):
    """The moment has come."""


@dataclass
class _Until(InTurn):
    """Lets the honest loop through to the gate and the judge, up to a moment."""

    world: World
    stop: str

    def create(self, call: Call) -> tuple[Candidate, ...]:
        self._stop_at(call, None)
        return self._learnt(call, None, self.world.run.gate.create(call))

    def vary(self, call: Call, source: Prototype | PublicEcho) -> tuple[Candidate, ...]:
        self._stop_at(call, source)
        return self._learnt(call, source, vary(self.world.run.gate, call, source))

    def show(self, query: Query, pool: Pool) -> None:
        self.world.run.judge.show(query, pool)

    def release(self, query: Query, pool: Pool) -> Receipt:
        if self.stop == f"release {query.iteration}":
            raise _ReachedError
        return self.world.run.judge.release(query, pool)

    def _stop_at(self, call: Call, source: Source) -> None:
        if call.slot == self.stop:
            self.world.call, self.world.source = call, source
            self.world.due = self.world.spelled(call, source)
            raise _ReachedError

    def _learnt(self, call: Call, source: Source, made: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        self.world.made.update((each.id, each) for each in made)
        wording = self.world.wording_of(call, source)
        self.world.wordings.update((each.id, wording) for each in made)
        return made


@dataclass
class World:
    """Everything an attacker inside the client has in his hands.

    Attributes:
        run: The live parts: real gate, ledger and transcript.
        provider: Sees everything that leaves.
        call: The call of the plan that the honest loop would ask for next.
        source: The candidate that it would say the call varies, and the reason.
        due: The request that the gate would send for it.
        made: All that the provider has sent, by id.
        wordings: By which of its class's prompts each was made; None where the template is all.
        spoilt: Whether an attempt has changed more than a refused one should, so that no other may be made here.
    """

    run: SmallRun
    provider: FakeProvider
    call: Call | None = None
    source: Source = None
    due: Outgoing | None = None
    made: dict[str, Candidate] = field(default_factory=dict)
    wordings: dict[str, int | None] = field(default_factory=dict)
    spoilt: bool = False

    @classmethod
    def at(cls, moment: str, root: Path, spoken: str = "getimg", way: str = "images") -> World:
        """An honest run up to a moment, of which `MOMENTS` has the names; what goes back in it has a name in `WAYS`."""
        plan = small_plan(**SIZES, dialect=spoken, **WAYS[way])
        provider = FakeProvider(_models)
        run = SmallRun.open(root, plan, provider)
        world = cls(run, provider)
        until = _Until(world, MOMENTS[moment])
        with suppress(_ReachedError):
            evolve(plan, until, until, Silent(), identify=str)
        return world

    @property
    def dialect(self) -> Dialect:
        return dialect(self.run.plan.provider.dialect)

    @property
    def candidate(self) -> Candidate:
        """The image that the honest request carries."""
        assert self.source is not None
        return self.source.candidate

    @property
    def receipt(self) -> Receipt:
        """The latest that was paid for."""
        return self.run.account.receipts()[-1]

    @property
    def first_call(self) -> Call:
        """The first of the plan."""
        return next(iter(self.run.plan.calls.values()))

    @property
    def other_label(self) -> str:
        """The class that the due call is not about."""
        return next(each for each in self.run.plan.labels if each != self.call.label)

    @property
    def trace(self) -> tuple[int, int]:
        """How much has left, and how much is on record."""
        return len(self.provider.requests), len(self.run.transcript.entries)

    def ask(self, **changes: Any) -> object:
        """Ask the gate for the honest call with something changed: call or source."""
        given = {"call": self.call, "source": self.source, **changes}
        return ask_gate(self.run.gate, given["call"], given["source"])

    def send(self, candidate: Candidate, call: Call | None = None) -> object:
        """Ask for another candidate's variation, for the honest reason, past the constructor of a prototype."""
        return self.ask(call=call or self.call, source=self.with_reason(candidate))

    def with_reason(self, candidate: Candidate) -> Source:
        """A candidate with the honest one's reason to leave."""
        if isinstance(self.source, Prototype):
            return make_unchecked_prototype(candidate, self.source.receipt)
        return PublicEcho(candidate)

    def spelled(self, call: Call, source: Source) -> Outgoing:
        """The request that plan and record give for a call."""
        if self.run.plan.varies_prompts:
            filled = replace(call, wording=self.wording_of(call, source))
            return ADDRESS.outgoing(self.dialect.encode(self.run.plan, filled, None))
        image = None if source is None else self.bytes_of(source.candidate)
        return ADDRESS.outgoing(self.dialect.encode(self.run.plan, call, image))

    def wording_of(self, call: Call, source: Source) -> int | None:
        """By which prompt what comes back for a call is made."""
        return call.wording if source is None else self.wordings[source.candidate.id]

    def bytes_of(self, candidate: Candidate) -> bytes:
        return self.run.transcript.bodies.file(candidate.digest)

    def of_class(self, label: str) -> list[Candidate]:
        """List what the provider has made for a class, the initial ones first."""
        return [each for each in self.made.values() if each.label == label]

    def pay(self, iteration: int, *choices: tuple[str, tuple[Chosen, ...]]) -> Receipt:
        """A committed receipt for any choice: what a judge that is in league with the loop could hand over."""
        named = tuple(Choice(label, chosen) for label, chosen in choices)
        self.spoilt = True
        query = Query(self.run.plan.run_id, iteration)
        return self.run.account.pay(query, (Event("uniform"),), lambda: Paid(named))


def ask_gate(gate: Gate, call: Call, source: Source) -> object:
    """Ask a gate for a call: text-to-image where it varies nothing, else image-to-image."""
    return gate.create(call) if source is None else vary(gate, call, source)


def make_unchecked_prototype(candidate: Candidate, receipt: object) -> Prototype:
    """A prototype whose constructor nobody ran."""
    made = object.__new__(Prototype)
    object.__setattr__(made, "candidate", candidate)
    object.__setattr__(made, "receipt", receipt)
    return made


def _models(request: Outgoing) -> Any:
    """Any API's greeting is answered; nobody reads the answer."""
    return ok([]) if request.method == "GET" else None


Count = Callable[..., None]
"""Counts an attempt of a family as refused or escaped, and asserts it: the family, whether, and what was seen."""
WorldAt = Callable[[str, str, str], World]
"""A run at a moment, spoken in a dialect, and what goes back in it."""
