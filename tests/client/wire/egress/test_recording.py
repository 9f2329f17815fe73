"""A judge is asked once enough came, and what it released is on record before anything else."""

from __future__ import annotations

import pytest

from client.wire.egress.rounds import first_round
from pcevolve.errors import UnusableError
from pcevolve.public.lineage import Pool
from pcevolve.public.release import Query
from pcevolve.wire.egress.recording import RecordingJudge


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
