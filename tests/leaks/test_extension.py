"""Attempts at getting something out through an extension: at a gate that has begun one, and before."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from leaks.world import Count, InTurn, ask_gate, make_unchecked_prototype
from pcevolve.egress.gate import Gate
from pcevolve.errors import ClientError, EgressError
from pcevolve.evolution import evolve
from pcevolve.privacy import Event
from pcevolve.public.calls import Call
from pcevolve.public.parts import Extension
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Choice, Chosen, PublicEcho, Receipt
from pcevolve.transcript import RunReader, Transcript
from support.extended import OnRecord, reopen
from support.provider import FakeProvider
from support.runs import Silent, SmallRun, small_plan, vary

ADDED = Extension(more=1, strength=0.5)
PLANS = {
    "last": small_plan(lookahead=1),
    "selected": small_plan(keep="selected", pool="all", iterations=1, strengths=(0.8,)),
}


class _ReachedError(Exception):
    """The extension's first call is due."""


@dataclass
class Begun(InTurn):
    """A gate that has begun an extension, and all that somebody in the client holds who wants to misuse it."""

    gate: Gate
    plan: PublicPlan
    call: Call
    source: Candidate
    receipts: tuple[Receipt, ...]
    made: dict[str, Candidate]
    committed: Callable[[Receipt], bool]

    def create(self, call: Call) -> tuple[Candidate, ...]:
        return self._learnt(self.gate.create(call))

    def vary(self, call: Call, source: object) -> tuple[Candidate, ...]:
        if call.purpose == "enlarge":
            self.call, self.source = call, source.candidate
            raise _ReachedError
        return self._learnt(vary(self.gate, call, source))

    def _learnt(self, made: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        self.made.update((each.id, each) for each in made)
        return made

    def ask(self, candidate: Candidate, call: Call | None = None, receipt: Receipt | None = None) -> object:
        """Ask for a variation of a candidate, for the reason that there should be, or with another receipt."""
        if not self.plan.selects and receipt is None:
            return ask_gate(self.gate, call or self.call, PublicEcho(candidate))
        return ask_gate(
            self.gate, call or self.call, make_unchecked_prototype(candidate, receipt or self.receipts[-1])
        )

    def other(self, keep: Callable[[Candidate], bool] = lambda each: True, same: bool = True) -> Candidate:
        """A candidate of the same class, or of the other, that is not the one that is due."""
        return next(
            each
            for each in self.made.values()
            if each.id != self.source.id and (each.label == self.call.label) == same and keep(each)
        )

    def change(self, **changes: object) -> object:
        """Ask for the call that is due with something else in it."""
        return self.ask(self.source, dataclasses.replace(self.call, **changes))


def forge_receipt(begun: Begun) -> Receipt:
    """A receipt that nobody paid for, for the whole class."""
    found = begun.other()
    chosen = (Chosen(found.id, found.digest),) * begun.plan.candidates
    choices = tuple(Choice(label, chosen) for label in begun.plan.labels)
    return Receipt(begun.plan.run_id, begun.call.iteration, choices, (Event("uniform"),), begun.plan.relation)


def find_unreleased(begun: Begun) -> Candidate:
    if begun.plan.selects:
        kept = {each.id for each in begun.receipts[-1].of(begun.call.label)}
        return begun.other(lambda each: each.id not in kept)
    return begun.other(lambda each: not each.id.startswith(f"i{begun.plan.iterations:03d}"))


ATTEMPTS: dict[str, Callable[[Begun], object]] = {
    "an image that was not released": lambda begun: begun.ask(find_unreleased(begun)),
    "another image of the class": lambda begun: begun.ask(begun.other()),
    "an image of another class": lambda begun: begun.ask(begun.other(same=False)),
    "another digest": lambda begun: begun.ask(dataclasses.replace(begun.source, digest="0" * 64)),
    "no image": lambda begun: begun.gate.create(begun.call),
    "a receipt of its own": lambda begun: begun.ask(begun.source, receipt=forge_receipt(begun)),
    "another seed": lambda begun: begun.change(seed=17),
    "another strength": lambda begun: begun.change(strength=0.4),
    "one image more": lambda begun: begun.change(count=2),
    "a slot of another extension": lambda begun: begun.change(slot=begun.call.slot.replace("y001", "y002")),
    "a later call first": lambda begun: begun.ask(begun.source, list(begun.plan.calls.values())[-1]),
    "another extension": lambda begun: begun.gate.extend(2, ADDED, begun.committed),
    "the same one again": lambda begun: begun.gate.extend(1, ADDED, begun.committed),
    "begun anew": lambda begun: begun.gate.begin(PLANS["last"], lambda receipt: True, lambda iteration: b""),
    "begun anew with the extension": lambda begun: begun.gate.begin(
        begun.plan, lambda receipt: True, lambda iteration: b""
    ),
    "the balance": lambda begun: begun.gate.balance(),
    "two at once": lambda begun: begun.gate.takes_several("Ann Example"),
    "closed early": lambda begun: begun.gate.finish(),
}


@pytest.fixture(params=PLANS)
def finished(request: pytest.FixtureRequest, folder: Path) -> Path:
    """A finished run: of the last round, or selected."""
    run = SmallRun.open(folder, PLANS[request.param])
    run.finish()
    run.close()
    return folder


@pytest.fixture
def begun(finished: Path) -> Iterator[tuple[Begun, FakeProvider, Transcript]]:
    """An extension before its first request."""
    provider, receipts = FakeProvider(), RunReader.strict(finished).receipts
    with reopen(finished, provider) as (gate, transcript, committed):
        plan = gate.extend(1, ADDED, committed)
        world = Begun(gate, plan, next(iter(plan.calls.values())), None, receipts, {}, committed)
        with pytest.raises(_ReachedError):
            evolve(plan, world, OnRecord(receipts), Silent())
        yield world, provider, transcript


def is_refused(
    act: Callable[[], object], transcript: Transcript, provider: FakeProvider, why: str = ""
) -> bool:
    """True if an act is refused, and leaves no trace on the wire or on record."""
    lines = len(transcript.entries)
    try:
        act()
    except ClientError as error:
        return (
            bool(why or isinstance(error, EgressError))
            and why in str(error)
            and ((provider.requests, len(transcript.entries)) == ([], lines))
        )
    return False


@pytest.mark.parametrize("name", ATTEMPTS)
def test_nothing_gets_out_through_an_extension(name: str, begun, count: Count):
    world, provider, transcript = begun
    count("extensions", is_refused(lambda: ATTEMPTS[name](world), transcript, provider))


def test_the_honest_extension_is_let_through(begun):
    """The attempts are refused for what they change, not because nothing may leave."""
    world, provider, _ = begun
    world.ask(world.source)
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("number", "paid"), [(2, True), (1, False)], ids=["the second first", "nothing was paid"]
)
def test_an_extension_that_may_not_be_leaves_no_line_on_record(
    number: int, paid: bool, finished: Path, count: Count
):
    provider = FakeProvider()
    with reopen(finished, provider) as (gate, transcript, committed):
        known = committed if paid else lambda receipt: False
        count("extensions", is_refused(lambda: gate.extend(number, ADDED, known), transcript, provider))


def test_an_unfinished_run_is_not_extended(folder: Path, count: Count):
    run, provider = SmallRun.open(folder), FakeProvider()
    run.evolve()
    run.close()
    with reopen(folder, provider) as (gate, transcript, committed):
        why = "is unfinished: go on with that first"
        count("extensions", is_refused(lambda: gate.extend(1, ADDED, committed), transcript, provider, why))
