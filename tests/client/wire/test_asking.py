"""What a runner remembers of its keeper's answers, and what it tells the keeper."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from client.wire.egress.rounds import first_round
from pcevolve.errors import UnusableError
from pcevolve.public import protocol
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.release import Candidate, Choice, Chosen, Query, Receipt
from pcevolve.wire.asking import AskingJudge, RecordingJudge, TellingGenerator
from support.provider import FakeProvider
from support.runs import RUN_ID, SmallRun, small_plan


def receipt(iteration: int) -> Receipt:
    return Receipt(
        RUN_ID, iteration, (Choice("cut", (Chosen("a", "0" * 64),)),), (), "replace-one", (), "5" * 64
    )


class Keeper:
    """Answers what a test says, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def begin(self, asked: protocol.Begin) -> protocol.Begun:
        self.asked.append(asked)
        return protocol.Begun(receipts=(receipt(1),))

    def show(self, asked: protocol.Show) -> None:
        self.asked.append(asked)

    def release(self, asked: protocol.Release) -> protocol.Released:
        self.asked.append(asked)
        return protocol.Released(receipt=receipt(asked.iteration), measurement=b"bWVhc3VyZWQ=")

    def made(self, told: protocol.Made) -> None:
        self.asked.append(told)


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


def test_what_was_paid_for_before_and_now_is_committed_and_nothing_else(keeper):
    judge = AskingJudge(keeper, head=lambda: "2" * 64)
    assert not judge.is_committed(receipt(1))
    judge.begin(small_plan())
    query = Query(RUN_ID, 2)
    assert [judge.is_committed(receipt(iteration)) for iteration in (1, 2)] == [True, False]
    judge.show(query, None)
    assert judge.release(query, None) == receipt(2)
    assert [judge.is_committed(receipt(iteration)) for iteration in (1, 2, 3)] == [True, True, False]
    assert not judge.is_committed(Receipt(RUN_ID, 2, (), (), "replace-one", (), "5" * 64))
    assert judge.receipts == (receipt(1), receipt(2))
    assert [judge.read_measured(iteration) for iteration in (1, 2)] == [b"", b"measured"]
    assert keeper.asked == [
        protocol.Begin(plan=protocol.digest_plan(small_plan())),
        protocol.Show(iteration=2),
        protocol.Release(iteration=2, head="2" * 64),
    ]


def test_a_plan_is_entered_by_a_digest_of_all_of_it(keeper):
    plans = (small_plan(), small_plan(epsilon="11"), small_plan(domain="wood"))
    assert len({protocol.digest_plan(each) for each in plans}) == 3


def test_a_keeper_is_told_of_each_answer_before_it_is_passed_on(keeper):
    calls = list(small_plan().calls.values())[:2]
    made = [(Candidate(call.output(0), call.label, 0, None, f"{k}" * 64),) for k, call in enumerate(calls)]
    generator = TellingGenerator(SimpleNamespace(answers=lambda asks: iter(made)), keeper)
    for place, answer in enumerate(generator.answers([(call, None) for call in calls])):
        assert answer == made[place]
        assert keeper.asked[place:] == [protocol.Made(slot=calls[place].slot, digests=(f"{place}" * 64,))]


@pytest.fixture
def run(tmp_path: Path) -> SmallRun:
    return SmallRun.open(tmp_path, provider=FakeProvider())


class Watched:
    """A judge that notes what it is asked, and asks another."""

    def __init__(self, judge: object) -> None:
        self.judge, self.asked = judge, []

    def show(self, query: Query, pool: Pool) -> None:
        self.asked.append("show")

    def release(self, query: Query, pool: Pool) -> object:
        self.asked.append("release")
        return self.judge.release(query, pool)


def test_a_receipt_is_on_record_before_it_is_passed_on_and_what_is_on_record_is_not_looked_at_again(run):
    watched, required = Watched(run.judge), []
    judge = RecordingJudge(watched, run.gate, required.append)
    query, pool = Query(run.plan.run_id, 1), Pool(first_round(run))
    for again in (False, True):
        judge.show(query, pool)
        assert run.transcript.has(judge.release(query, pool))
        assert len([each for each in run.transcript.entries if each.record.kind == "released"]) == 1
        assert watched.asked == ["show", "release", *["release"] * again]
        assert required == [pool]


def test_where_too_little_came_nothing_is_shown_to_the_judge(run):
    def refuse(pool: Pool) -> None:
        raise UnusableError("too little")

    watched = Watched(run.judge)
    with pytest.raises(UnusableError):
        RecordingJudge(watched, run.gate, refuse).show(Query(run.plan.run_id, 1), Pool(first_round(run)))
    assert watched.asked == []
