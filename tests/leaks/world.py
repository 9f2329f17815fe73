"""A small run that has come, honestly, to the moment at which somebody tries to smuggle something out."""

from __future__ import annotations

import dataclasses
import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pcevolve.egress.policy import Source
from pcevolve.egress.transport import Outgoing
from pcevolve.evolve import Pool, evolve
from pcevolve.ledger.ledger import Paid
from pcevolve.privacy import Event
from pcevolve.providers import dialect
from pcevolve.providers.dialect import Dialect, WireRequest
from pcevolve.providers.remote import RemoteGenerator
from pcevolve.public.plan import Call
from pcevolve.public.release import Candidate, Choice, Chosen, PublicPrompt, Query, Receipt
from support.provider import FakeProvider, ok
from support.runs import Silent, SmallRun, small_plan

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


class _ReachedError(Exception):
    """The moment has come."""


@dataclass
class _Until:
    """Lets the honest loop through to the gate and the judge, up to a moment."""

    world: World
    stop: str

    def exchange(self, request: WireRequest, call: Call, source: Source) -> tuple[Candidate, ...]:
        if call.slot == self.stop:
            self.world.request, self.world.call, self.world.source = request, call, source
            raise _ReachedError
        made = self.world.run.gate.exchange(request, call, source)
        self.world.made.update((each.id, each) for each in made)
        return made

    def show(self, query: Query, pool: Pool) -> None:
        self.world.run.judge.show(query, pool)

    def release(self, query: Query, pool: Pool) -> Receipt:
        if self.stop == f"release {query.iteration}":
            raise _ReachedError
        return self.world.run.judge.release(query, pool)


@dataclass
class World:
    """What an attacker inside the client holds in his hands.

    Attributes:
        run: The live parts: real gate, ledger and transcript.
        provider: Sees everything that leaves.
        request: What the honest loop would send next.
        call: The call of the plan that it is for.
        source: The reason for its image.
        made: All that the provider has sent, by id.
        spoilt: Whether an attempt has changed more than a refused one should, so that no other may be made here.
    """

    run: SmallRun
    provider: FakeProvider
    request: WireRequest | None = None
    call: Call | None = None
    source: Source = None
    made: dict[str, Candidate] = field(default_factory=dict)
    spoilt: bool = False

    @classmethod
    def at(cls, moment: str, root: Path, spoken: str = "getimg") -> World:
        """An honest run up to a moment, of which `MOMENTS` has the names."""
        plan = small_plan(candidates=4, initial=4, prototypes=2, lookahead=1, more=1, dialect=spoken)
        provider = FakeProvider(_models)
        world = cls(SmallRun.open(root, plan, provider), provider)
        until = _Until(world, MOMENTS[moment])
        generator = RemoteGenerator(plan, world.dialect, until, world.run.transcript.bodies.file)
        with suppress(_ReachedError):
            evolve(plan, generator, until, Silent())
        return world

    @property
    def dialect(self) -> Dialect:
        return dialect(self.run.plan.dialect)

    @property
    def fields(self) -> dict[str, Any]:
        """The honest request's JSON."""
        return json.loads(self.request.body)

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
    def trace(self) -> tuple[int, int]:
        """How much has left, and how much is on record."""
        return len(self.provider.requests), len(self.run.transcript.entries)

    def exchange(self, **changes: Any) -> object:
        """Hand the gate the honest request with something changed: request, call or source."""
        honest = {"request": self.request, "call": self.call, "source": self.source}
        return self.run.gate.exchange(**{**honest, **changes})

    def send_body(self, body: bytes) -> object:
        """Another body in place of the honest one."""
        return self.exchange(request=dataclasses.replace(self.request, body=body))

    def send_fields(self, **changes: object) -> object:
        """The honest body with other values, spelled as an honest client spells them."""
        fields = {**self.fields, **changes}
        return self.send_body(json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode())

    def spelled(self, call: Call, image: bytes | None, prompt: PublicPrompt | None = None) -> WireRequest:
        """What an honest client would send for a call, an image and a prompt."""
        prompt = prompt or PublicPrompt.of(self.run.plan, call.label)
        return self.dialect.encode(self.run.plan, call, prompt, image)

    def send_image(self, image: bytes | None, source: Source, call: Call | None = None) -> object:
        """A well-spelled request with any image, and any reason for it."""
        call = call or self.call
        return self.exchange(request=self.spelled(call, image), call=call, source=source)

    def bytes_of(self, candidate: Candidate) -> bytes:
        """What the provider sent."""
        return self.run.transcript.bodies.file(candidate.digest)

    def of_class(self, label: str) -> list[Candidate]:
        """What the provider has made for a class, the initial ones first."""
        return [each for each in self.made.values() if each.label == label]

    def pay(self, iteration: int, *choices: tuple[str, tuple[Chosen, ...]]) -> Receipt:
        """A committed receipt for any choice: what a judge that is in league with the loop could hand over."""
        named = tuple(Choice(label, chosen) for label, chosen in choices)
        self.spoilt = True
        query = Query(self.run.plan.run_id, iteration)
        return self.run.account.pay(query, (Event("uniform"),), lambda: Paid(named))

    def image(self) -> bytes | None:
        """What the honest request carries."""
        return None if self.source is None else self.bytes_of(self.source.candidate)


def _models(request: Outgoing) -> Any:
    """Any API's greeting is answered; nobody reads the answer."""
    return ok([]) if request.method == "GET" else None
