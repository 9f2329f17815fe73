"""Bits in time: when a request comes, how often, and when the connection ends.

Some ways are refused by the gate. Others cannot be refused, because private work does take time: they are whole runs on
a clock of their own, with private work that is quick, slow or in between, and are refused if the provider's clock reads
the same after each.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from leaks.attempts import UNPLANNED, Act, Attempt, attempts
from leaks.world import World
from pcevolve.errors import BudgetError, ClientError, ProviderRefusedError
from pcevolve.keeper.padding import Padding
from pcevolve.public.evolution import Evolved, Judge, Pool, evolve
from pcevolve.public.release import Query, Receipt
from pcevolve.public.transcript.records import Released
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.egress.pace import Pace
from pcevolve.wire.egress.recording import RecordingJudge
from pcevolve.wire.egress.retry import RetryPolicy
from pcevolve.wire.egress.transport import Incoming, Outgoing
from support.provider import FakeProvider
from support.runs import PaddedJudge, Silent, SmallRun, small_plan

TICK = 4.0
WORKS = (0.0, 0.3, 1.7, 3.9)
"""Seconds that private work takes on different data."""
LONG_WORKS = (0.0, 30.0, 3000.0)
"""Seconds that private work takes where it may take longer than a tick."""
UNMOVED = "the provider's clock reads the same"


class UnmovedError(ClientError):
    """The attempt changed nothing that the provider can see."""


@dataclass
class Clock:
    """Time that passes only when somebody says so."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Stopwatch(FakeProvider):
    """A provider that notes when requests come and when the connection is closed."""

    clock: Clock
    meddle: Callable[[int], Incoming | None] = lambda number: None
    seen: list[tuple[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(lambda request: self.meddle(len(self.requests)))

    def send(self, request: Outgoing) -> Incoming:
        self.seen.append((request.url, round(self.clock.now, 6)))
        return super().send(request)

    def close(self) -> None:
        if not self.closed:
            self.seen.append(("closed", round(self.clock.now, 6)))
        super().close()


@dataclass
class Working:
    """A judge whose private work takes a while, and whose public work takes another, the same on all data."""

    judge: Judge
    clock: Clock
    took: float
    failing_at: int | None = None

    def show(self, query: Query, pool: Pool) -> None:
        self.clock.now += 0.9 * query.iteration
        self.judge.show(query, pool)

    def release(self, query: Query, pool: Pool) -> Receipt:
        self.clock.now += self.took
        if query.iteration == self.failing_at:
            raise BudgetError("another run used the data up meanwhile")
        return self.judge.release(query, pool)


@dataclass
class Played:
    """A run on a clock of its own."""

    run: SmallRun
    clock: Clock
    provider: Stopwatch
    judge: RecordingJudge

    @classmethod
    def open(
        cls,
        root: Path,
        took: float,
        meddle: Callable[[int], Incoming | None] = lambda number: None,
        failing_at: int | None = None,
        **plan: object,
    ) -> Played:
        random.seed(1)  # pauses before further attempts are drawn
        clock = Clock()
        provider = Stopwatch(clock, meddle)
        pace, padding = Pace(0.0, clock, clock.sleep), Padding(TICK, clock, clock.sleep)
        run = SmallRun.open(root, small_plan(**plan), provider, clock.sleep, pace)
        working = PaddedJudge(Working(run.judge, clock, took, failing_at), padding)
        judge = RecordingJudge(working, run.gate, lambda pool: None)
        return cls(run, clock, provider, judge)

    def evolve(self, judge: Judge | None = None) -> Evolved:
        return evolve(self.run.plan, self.run.gate, judge or self.judge, Silent(), identify=str)

    def end(self) -> list[tuple[str, float]]:
        """All the provider saw, the process being over now."""
        self.provider.close()
        self.run.close()
        return self.provider.seen


Seen = list[tuple[str, float]]
Trick = Callable[[Path, float], Seen]


def _same(trick: Trick, works: Iterable[float] = WORKS) -> Act:
    """Play a trick on data of different sizes, and compare what the provider's clock says."""

    def act(world: World) -> NoReturn:
        seen = []
        for took in works:
            with TemporaryDirectory(dir=world.run.root.parent) as folder:
                seen.append(trick(Path(folder), took))
        assert seen[0]
        assert all(each == seen[0] for each in seen), f"the clock reads differently: {seen}"
        raise UnmovedError(UNMOVED)

    return act


def _whole(root: Path, took: float, **options: Any) -> Seen:
    played = Played.open(root, took, **options)
    with suppress(BudgetError):
        played.evolve()
    return played.end()


def _after_the_end(root: Path, took: float, **plan: object) -> Seen:
    """Evaluation, pages and the release folder take their time as well."""
    played = Played.open(root, took, **plan)
    played.evolve()
    played.clock.now += took
    played.run.gate.finish()
    return played.end()


def _busy(number: int) -> Incoming | None:
    """The API is busy at the first request of every round: the receipt stays as it is, and so do the pauses."""
    return Incoming(503, (), b"") if number in {2, 6, 11} else None


def _resumed(root: Path, took: float, **plan: object) -> Seen:
    """Killed in the middle; the second process finds receipts in ledger and record, at whatever speed."""
    first = Played.open(root, 0.0, lambda number: Incoming(401, (), b"") if number == 10 else None, **plan)
    with suppress(ProviderRefusedError):
        first.evolve()
    first.end()
    return _whole(root, took, **plan)


def _recording(played: Played, before: Callable[[], object]) -> None:
    """Something happens before a receipt goes on record."""
    honest = played.run.transcript.append

    def append(record: object) -> object:
        if isinstance(record, Released):
            before()
        return honest(record)

    played.run.transcript.append = append


def _full() -> NoReturn:
    raise OSError("no space left")


def _unrecorded(root: Path, took: float) -> Seen:
    """The disk is full between commit and record: the second process finds the receipt in the ledger alone."""
    first = Played.open(root, 0.0)
    _recording(first, _full)
    with suppress(OSError):
        first.evolve()
    first.end()
    return _whole(root, took)


def _asked_twice(root: Path, took: float) -> Seen:
    """The second answer comes from the ledger; two sections, whatever each of them took."""
    played = Played.open(root, took)
    paced = played.judge

    class Twice:
        def show(self, query: Query, pool: Pool) -> None:
            paced.show(query, pool)

        def release(self, query: Query, pool: Pool) -> Receipt:
            assert paced.release(query, pool) == paced.release(query, pool)
            return paced.release(query, pool)

    played.evolve(Twice())
    return played.end()


def _within_a_round(root: Path, took: float) -> Seen:
    """Private work between two requests of a round, through the only judge that the loop has."""
    played = Played.open(root, took)
    asked: list[Receipt] = []

    class Watching(Silent):
        def generated(self, call: object) -> None:
            if played.run.account.receipts():
                asked.append(played.judge.release(Query(played.run.plan.run_id, 1), Pool({})))

    evolve(played.run.plan, played.run.gate, played.judge, Watching(), identify=str)
    assert asked
    return played.end()


def _unmoved(ask: Callable[[World], object]) -> Act:
    """Ask for something that is answered from the record; whether a request left, the verdict counts."""

    def act(world: World) -> NoReturn:
        ask(world)
        raise UnmovedError(UNMOVED)

    return act


def _posted(world: World) -> object:
    gate = world.run.gate
    return gate._exchange.obtain(
        "i000/c000/n000000", gate._policy.greeting_request(), RetryPolicy(seconds=1, first=1)
    )


def _on_a_closed_transport(world: World) -> object:
    transport = HttpTransport(1.0)
    transport.close()
    return transport.send(world.run.gate._policy.greeting_request())


def _one_more(world: World) -> object:
    return world.ask(call=dataclasses.replace(world.first_call, slot="x009/c000/n000000"), source=None)


NO_ROUNDS = {"iterations": 0, "strengths": (), "keep": "selected", "pool": "all"}
SELECTED = {"keep": "selected", "pool": "all"}
ALL = {"lookahead": 1, "more": 1}
TRICKS: dict[str, Trick] = {
    "a selection that takes longer": _whole,
    "the same with lookahead and more samples": partial(_whole, **ALL),
    "the same and a dataset that is selected": partial(_whole, **SELECTED),
    "finishing late after rounds": partial(_after_the_end, **SELECTED),
    "failing in the middle": partial(_whole, failing_at=2),
    "a busy API, so that the same is asked again": partial(_whole, meddle=_busy),
    "a busy API before lookahead": partial(_whole, meddle=_busy, **ALL),
    "resuming": _resumed,
    "resuming with lookahead and more samples": partial(_resumed, **ALL),
    "resuming without a record of the receipt": _unrecorded,
    "releasing twice": _asked_twice,
    "private work within a round": _within_a_round,
}
LONG: dict[str, Trick] = {
    "a selection after the last request": partial(_whole, **NO_ROUNDS),
    "finishing late": partial(_after_the_end, **NO_ROUNDS),
    "resuming after the last request": partial(_resumed, **NO_ROUNDS),
}
ATTEMPTS: list[Attempt] = [
    *attempts(
        "timing",
        "create-1",
        {
            **{name: _same(trick) for name, trick in TRICKS.items()},
            **{name: _same(trick, LONG_WORKS) for name, trick in LONG.items()},
        },
        UNMOVED,
        UnmovedError,
    ),
    *attempts(
        "timing",
        "all-sent",
        {
            "a request after the last one": (_posted, "nothing more is sent"),
            "a request on a closed transport": (_on_a_closed_transport, "closed for good"),
            "one call more, after the last one": (_one_more, UNPLANNED),
            "a greeting for another run": (
                lambda world: world.run.gate.hello("d" * 32),
                "on record with another API",
            ),
        },
    ),
    *attempts(
        "timing",
        "all-sent",
        {
            "the first call again": _unmoved(lambda world: world.ask(call=world.first_call, source=None)),
            "another greeting": _unmoved(lambda world: world.run.gate.hello(world.run.plan.run_id)),
        },
        UNMOVED,
        UnmovedError,
    ),
]
