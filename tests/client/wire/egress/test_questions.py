"""What an API is asked before there is a plan."""

from __future__ import annotations

import pytest

from pcevolve.errors import EgressError
from pcevolve.public.transcript.log import Transcript
from pcevolve.wire.egress.address import Address, Route
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.retry import RetryPolicy
from pcevolve.wire.egress.transport import Incoming
from pcevolve.wire.providers.getimg import GetimgDialect
from pcevolve_shared import wire
from support.provider import FakeProvider
from support.runs import ADDRESS, RUN_ID, SmallRun, small_plan


@pytest.mark.parametrize(
    ("answer", "told"), [(Incoming(200, (), b'{"balance": 12.5}'), 12.5), (Incoming(502, (), b""), None)]
)
def test_a_balance_is_asked_for_before_the_plan_once_and_a_run_begins_without_it(tmp_path, answer, told):
    provider = FakeProvider(lambda request: answer if request.url.endswith(wire.BALANCE) else None)
    asked = []
    for expected in (told, None):
        transcript = Transcript(tmp_path / "transcript")
        patience = RetryPolicy(seconds=5, first=1, sleep=lambda seconds: None)
        gate = Gate(transcript, GetimgDialect(), ADDRESS, provider, patience)
        gate.questions.hello(RUN_ID)
        assert gate.questions.balance() == expected
        gate.begin(small_plan(), lambda receipt: False, lambda iteration: b"")
        transcript.close()
        with pytest.raises(EgressError, match="the plan of this run is already fixed: the steps before"):
            gate.questions.balance()
        asked.append([each.url.endswith(wire.BALANCE) for each in provider.requests].count(True))
    assert asked[0] == asked[1] > 0


def test_a_greeting_on_record_is_not_sent_again(tmp_path):
    provider, answers = FakeProvider(), []
    for _ in range(2):
        transcript = Transcript(tmp_path / "transcript")
        gate = Gate(transcript, GetimgDialect(), ADDRESS, provider, RetryPolicy(seconds=5))
        answers.append(gate.questions.hello(RUN_ID))
        transcript.close()
    assert answers[0] == answers[1] != b""
    assert len(provider.requests) == 1


def test_the_record_says_that_there_is_a_proxy_and_not_which(tmp_path):
    way = Address(
        "https://127.0.0.1:9", "secret-key", route=Route(proxy="http://proxy.ward-7.clinic.example:3128")
    )
    run = SmallRun.open(tmp_path, small_plan(api="https://127.0.0.1:9"), address=way)
    run.finish()
    assert run.transcript.entries[0].record.proxied
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"ward-7" in each for each in kept)
    run.close()
    with pytest.raises(EgressError, match="names a different API"):  # the same way without the proxy
        SmallRun.open(tmp_path, run.plan, address=Address("https://127.0.0.1:9", "secret-key"))
