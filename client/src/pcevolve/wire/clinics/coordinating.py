"""The coordinator's runner process: requests answers from all owners, and has them added up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from pcevolve.public import protocol
from pcevolve.public.clinics.answers import Exchange, Question, SignedAnswer, encode_exchanges
from pcevolve.public.clinics.messages import Add, Ask, Asked
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.plan import PublicPlan
from pcevolve.public.processes.confinement import Enforcement
from pcevolve.public.processes.pipe import Pipe
from pcevolve.public.release import Query, Receipt
from pcevolve.public.run.progress import Audience
from pcevolve.wire.asking import AskingJudge, RemoteKeeper
from pcevolve.wire.clinics.door import Door
from pcevolve.wire.clinics.serving import serve
from pcevolve.wire.execution import carry_out
from pcevolve.wire.reaching import RunnerJob
from pcevolve.wire.running import work


class AddingSide(protocol.PrivateSide, Protocol):
    """The coordinator's keeper, as seen by the runner: makes the plan and adds answers up, without data."""

    def ask(self, asked: Ask) -> Asked: ...

    def add(self, asked: Add) -> protocol.Released: ...


class RemoteCoordinator(RemoteKeeper):
    """The coordinator's side in another process."""

    def ask(self, asked: Ask) -> Asked:
        return self._ask(asked, Asked)

    def add(self, asked: Add) -> protocol.Released:
        return self._ask(asked, protocol.Released)


Gather = Callable[[Question, Sequence[Exchange]], tuple[SignedAnswer, ...]]
"""Requests answers from all owners, and waits until each has answered."""


@dataclass
class AddingJudge(AskingJudge):
    """A judge that requests all owners' answers for each access of a release, one access after the other.

    Attributes:
        side: Makes questions, and turns answers into releases.
        gather: Requests the owners' answers to a question.
    """

    side: AddingSide = field(kw_only=True)
    gather: Gather = field(kw_only=True)
    _answered: dict[int, bytes] = field(default_factory=dict)

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Have a release added up; a recorded release is returned without new questions."""
        head, exchanges = self.head(), list[Exchange]()
        # A recorded release skips the loop; otherwise each answer may lead to the next question.
        while query.iteration not in self.paid:
            asked = self.side.ask(Ask(iteration=query.iteration, head=head, exchanges=tuple(exchanges)))
            if asked.question is None:
                break
            exchanges.append(
                Exchange(question=asked.question, answers=self.gather(asked.question, exchanges))
            )
        released = self.side.add(Add(iteration=query.iteration, head=head, exchanges=tuple(exchanges)))
        if exchanges:
            self._answered[query.iteration] = encode_exchanges(exchanges)
        self.paid[query.iteration] = released.receipt
        self._measured[query.iteration] = released.measurement
        return released.receipt

    def read_answers(self, iteration: int) -> bytes:
        """Return the owners' answers for a release, as stored; empty for a release that was already on record."""
        return self._answered.get(iteration, b"")


@dataclass(frozen=True)
class OwnersAtDoor:
    side: AddingSide
    door: Door

    def make_judge(self, keeper: protocol.PrivateSide, head: Callable[[], str]) -> AddingJudge:
        return AddingJudge(keeper, head, side=self.side, gather=self.door.gather)

    def wait(self, plan: PublicPlan) -> None:
        self.door.wait(plan)


def run(orders: Mapping[str, Any], _enforced: Enforcement, up: Pipe, across: Pipe) -> None:
    """Run as the runner of a coordinator."""
    side = RemoteCoordinator(across, partial(up.send, "begun"))

    def go(job: RunnerJob, audience: Audience) -> dict[str, Any]:
        door = Door(job.folder, version("pcevolve"), audience.console.print)
        files = [None if each is None else Path(each) for each in orders["certificate"]]
        server = serve(orders["listener"], door, *files)
        try:
            summary = carry_out(job, side, audience, OwnersAtDoor(side, door))[2]
            door.finish(summary)
            return summary
        finally:
            side.close(protocol.Close())
            server.shutdown()

    work(go, orders, up)
