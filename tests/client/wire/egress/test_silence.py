"""The end of a run on the wire: the connection closes with the last answer, and nothing that follows can be seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pcevolve.errors import EgressError, ProviderRefusedError
from pcevolve.keeper.private.judge import UniformJudge
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.egress.transport import Incoming
from pcevolve.wire.providers.dialect import WireRequest
from support import online
from support.provider import FakeProvider
from support.runs import SmallRun, replace_settings, small_plan

NO_ROUNDS = {"iterations": 0, "strengths": (), "keep": "selected", "pool": "all"}
"""All that is released is released after the last request."""


class Watching:
    """A judge that looks at the connection whenever it is asked."""

    def __init__(self, judge: UniformJudge, provider: FakeProvider) -> None:
        self.judge, self.provider = judge, provider
        self.closed: list[bool] = []

    def show(self, query, pool):
        self.closed.append(self.provider.closed)

    def release(self, query, pool):
        self.closed.append(self.provider.closed)
        return self.judge.release(query, pool)


def watch_run(root, provider: FakeProvider, **plan: object) -> tuple[SmallRun, Watching]:
    run = SmallRun.open(root, small_plan(**plan), provider)
    run.judge = Watching(run.judge, provider)
    return run, run.judge


@pytest.mark.parametrize(
    ("plan", "seen"),
    [
        (NO_ROUNDS, [True, True]),
        ({}, [False] * 4),
        ({"keep": "selected"}, [False] * 4 + [True] * 2),
        ({"more": 1, "lookahead": 1}, [False] * 4),
    ],
)
def test_the_connection_is_closed_before_anything_that_follows_the_last_request(tmp_path, plan, seen):
    provider = FakeProvider()
    run, judge = watch_run(tmp_path, provider, **plan)
    run.evolve()
    assert judge.closed == seen
    assert provider.closed


def test_the_connection_stays_open_until_the_last_call_is_answered_by_something_usable(tmp_path):
    broke = [False]
    bill = Incoming(402, (), b"{}")
    provider = FakeProvider(lambda request: bill if broke[0] and request.method == "POST" else None)
    run = SmallRun.open(tmp_path, small_plan(**NO_ROUNDS), provider)
    *calls, last = run.plan.calls.values()
    for call in calls:
        run.gate.create(call)
    broke[0] = True
    with pytest.raises(ProviderRefusedError, match="no credit is left"):
        run.gate.create(last)
    assert not provider.closed
    broke[0] = False
    run.gate.create(last)
    assert provider.closed


def test_a_resumed_run_whose_last_answer_is_on_record_never_opens_a_connection(tmp_path):
    first, _ = watch_run(tmp_path, FakeProvider(), **NO_ROUNDS)
    first.evolve()
    first.close()
    again = FakeProvider()
    run, judge = watch_run(tmp_path, again, **NO_ROUNDS)
    run.evolve()
    assert (again.requests, again.closed, judge.closed) == ([], True, [True])


def test_a_gate_whose_connection_is_closed_sends_nothing_more(tmp_path):
    provider = FakeProvider()
    run, _ = watch_run(tmp_path, provider, **NO_ROUNDS)
    run.evolve()
    sent, recorded = len(provider.requests), len(run.transcript.entries)
    with pytest.raises(EgressError, match="the last request of the plan was answered; nothing more is sent"):
        run.gate._exchange.obtain(
            "i000/c000/n000000", run.gate._policy.greeting_request(), run.gate._patience
        )
    assert (len(provider.requests), len(run.transcript.entries)) == (sent, recorded)


def test_a_closed_transport_sends_nothing(server):
    transport = HttpTransport(5)
    transport.close()
    request = Address(server.address).outgoing(WireRequest("GET", "/sdapi/v1/sd-models"))
    with pytest.raises(EgressError, match="connections of this run are closed"):
        transport.send(request)
    assert server.heard == []


def test_the_connections_to_image_hosts_are_closed_too(tmp_path):
    host = online.LocalServer(online.image_host)
    api = online.LocalServer(online.SiliconFlow(host.address))
    transport = HttpTransport(5)
    address = Address(api.address, online.KEY)
    plan = small_plan(
        **NO_ROUNDS, dialect="siliconflow", api=api.address, model="Kwai-Kolors/Kolors", width=512, height=512
    )
    plan = replace_settings(plan, {"image_hosts": (host.host,)})
    run = SmallRun.open(tmp_path, plan, transport, address=address)
    *calls, last = run.plan.calls.values()
    for call in calls:
        run.gate.create(call)
    (own,) = transport._all
    pool = own.http._pool
    assert len(pool.connections) == 2
    run.gate.create(last)
    assert pool.connections == []
    api.close()
    host.close()


def test_the_ledger_is_asked_about_a_receipt_once_and_not_between_the_requests_of_a_round(tmp_path):
    asked: list[int] = []
    plan = small_plan(candidates=4, initial=4)
    run = SmallRun.open(tmp_path, plan)
    policy = run.gate._policy
    honest = policy._committed
    policy._committed = lambda receipt: asked.append(receipt.iteration) or honest(receipt)
    run.evolve()
    assert asked == [1, 2]


def test_a_receipt_that_says_something_else_than_the_one_that_the_ledger_knew_is_another(tmp_path):
    run = SmallRun.open(tmp_path)
    receipt = run.evolve().receipts[0]
    with pytest.raises(EgressError, match="the ledger has no receipt"):
        run.gate.record_receipt(replace(receipt, events=()))
