"""The gate: nothing leaves that the plan and a paid release do not give, byte for byte."""

from __future__ import annotations

import json

import pytest

from client.wire.egress.rounds import first_round, pay, vary_first
from pcevolve.errors import EgressError, ProviderUnreachableError, TranscriptError
from pcevolve.public.release import Prototype
from pcevolve.public.transcript.log import Transcript
from pcevolve.wire.egress.gate import Gate
from pcevolve.wire.egress.retry import Busy, RetryPolicy
from pcevolve.wire.egress.transport import Incoming
from pcevolve.wire.providers.getimg import GetimgDialect
from pcevolve_shared import images
from support.provider import FakeProvider, png
from support.runs import ADDRESS, RUN_ID, SmallRun, small_plan

DIALECT = GetimgDialect()


def kinds(run: SmallRun) -> list[str]:
    return [entry.record.kind for entry in run.transcript.entries]


def test_a_released_prototype_leaves_as_the_bytes_that_came_and_its_receipt_is_on_record_before(
    run, candidate, provider
):
    made = vary_first(run, Prototype(candidate, pay(run, candidate)))
    call = next(iter(run.plan.round(1)))
    assert [each.parent for each in made] == [candidate.id] * call.count
    received = run.transcript.bodies.file(candidate.digest)
    assert provider.requests[-1].body == DIALECT.encode(run.plan, call, received).body
    assert kinds(run)[-4:] == ["released", "sent", "answered", "received"]


def test_a_call_that_was_answered_is_answered_again_without_a_request(run, provider):
    made = first_round(run)
    before = len(provider.requests), len(run.transcript.entries)
    assert first_round(run) == made
    assert (len(provider.requests), len(run.transcript.entries)) == before


def test_an_image_that_was_changed_where_received_ones_are_kept_stays(run, candidate, provider):
    prototype = Prototype(candidate, pay(run, candidate))
    (run.transcript.bodies.folder / candidate.digest).write_bytes(png(99))
    before = len(provider.requests)
    with pytest.raises(TranscriptError, match="was changed"):
        vary_first(run, prototype)
    assert len(provider.requests) == before


def test_a_request_is_on_disk_before_it_leaves(tmp_path):
    def look(request):
        log = (tmp_path / "transcript" / "log.jsonl").read_text().splitlines()
        seen.append(json.loads(log[-1])["event"]["kind"])

    seen: list[str] = []
    first_round(SmallRun.open(tmp_path, provider=FakeProvider(look)))
    assert set(seen) == {"sent"}


def test_before_there_is_a_plan_no_call_leaves(tmp_path):
    provider = FakeProvider()
    gate = Gate(
        Transcript(tmp_path / "transcript"), GetimgDialect(), ADDRESS, provider, RetryPolicy(seconds=5)
    )
    gate.questions.hello(RUN_ID)
    before = len(provider.requests)
    with pytest.raises(EgressError):
        list(gate.answers([(next(iter(small_plan().round(0))), None)]))
    assert len(provider.requests) == before


@pytest.mark.parametrize("asked", [None, "86400"])
def test_a_first_contact_that_fails_is_made_again_by_the_same_command_for_there_is_no_run_to_resume(asked):
    def busy() -> str:
        raise Busy("HTTP 429", asked)

    patience = RetryPolicy(seconds=5, first=1, sleep=lambda seconds: None, hint="HTTPS_PROXY is not used")
    limits = ("provider.first_contact allows (1 s)", "provider.patience allows (5 s)")
    for policy, limit in zip((patience.for_first_contact(), patience.before_plan()), limits, strict=True):
        with pytest.raises(ProviderUnreachableError, match=", run the same command again") as error:
            policy.until_answered(busy)
        assert "--resume" not in str(error.value)
        assert asked is None or limit in str(error.value)
    with pytest.raises(ProviderUnreachableError, match=", continue with --resume RUN"):
        patience.until_answered(busy)


def test_a_first_contact_that_loads_is_waited_for_as_long_as_any_and_told_so():
    def loading() -> str:
        raise Busy("HTTP 503", "9", loading=True)

    with pytest.raises(
        ProviderUnreachableError, match=r"9 seconds .*longer than provider\.patience allows \(5 s\)"
    ):
        RetryPolicy(seconds=5, first=1).for_first_contact().until_answered(loading)


@pytest.mark.parametrize("text", ["AAAA", images.to_base64(png(5))], ids=["short", "escaped"])
def test_an_unusual_but_honest_answer_does_not_break_the_run(tmp_path, text: str):
    def unusual(request):
        if request.method == "GET":
            return None
        made = [{"image": text, "seed": k} for k in range(json.loads(request.body)["n"])]
        body = json.dumps({"images": made, "cost": 0} if len(made) > 1 else {**made[0], "cost": 0})
        return Incoming(200, (), body.replace("/", "\\/").encode())

    run = SmallRun.open(tmp_path, provider=FakeProvider(unusual))
    made = first_round(run)
    assert all(run.transcript.bodies.file(each.digest) for each in made["cut"])
    run.close()
    assert first_round(SmallRun.open(tmp_path)) == made
