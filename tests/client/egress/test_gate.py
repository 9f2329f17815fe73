"""The gate: nothing leaves that the plan and a paid release do not give, byte for byte."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pcevolve.egress.retry import Busy, Patience
from pcevolve.egress.transport import ConnectionTroubleError, Incoming
from pcevolve.errors import (
    EgressError,
    ProviderRefusedError,
    ProviderReplyError,
    ProviderUnreachableError,
    TranscriptError,
)
from pcevolve.ledger.ledger import Paid
from pcevolve.privacy import Event
from pcevolve.providers.getimg import GetimgDialect
from pcevolve.public.calls import Call
from pcevolve.public.release import Candidate, Choice, Chosen, Prototype, PublicEcho, Query
from pcevolve_shared import images
from support.provider import FakeProvider, ok, png
from support.runs import SmallRun, small_plan

DIALECT = GetimgDialect()


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider()


@pytest.fixture
def run(tmp_path, provider) -> SmallRun:
    return SmallRun.open(tmp_path, provider=provider)


def first_round(run: SmallRun) -> dict[str, tuple[Candidate, ...]]:
    made = dict.fromkeys(run.plan.labels, ())
    for call in run.plan.round(0):
        made[call.label] += run.gate.create(call)
    return made


def paid(run: SmallRun, candidate: Candidate, iteration: int = 1, label: str | None = None):
    choice = Choice(label or candidate.label, (Chosen(candidate.id, candidate.digest),))
    query = Query(run.plan.run_id, iteration)
    return run.account.pay(query, (Event("uniform"),), lambda: Paid((choice,)))


def variation(run: SmallRun, iteration: int = 1) -> Call:
    return next(iter(run.plan.round(iteration)))


def assert_refused(run: SmallRun, provider: FakeProvider, reason: str, attempt) -> None:
    before = len(provider.requests), len(run.transcript.entries)
    with pytest.raises(EgressError, match=reason):
        attempt()
    assert (len(provider.requests), len(run.transcript.entries)) == before


def test_a_released_prototype_leaves_as_the_bytes_that_came(run, provider):
    candidate = first_round(run)["cut"][0]
    call = variation(run)
    made = run.gate.vary(call, Prototype(candidate, paid(run, candidate)))
    assert [each.parent for each in made] == [candidate.id] * call.count
    received = run.transcript.bodies.file(candidate.digest)
    assert provider.requests[-1].body == DIALECT.encode(run.plan, call, received).body


def test_a_receipt_goes_on_record_before_the_first_request_that_it_allows(run):
    candidate = first_round(run)["cut"][0]
    run.gate.vary(variation(run), Prototype(candidate, paid(run, candidate)))
    kinds = [entry.record.kind for entry in run.transcript.entries]
    assert kinds[-4:] == ["released", "sent", "answered", "received"]


def test_a_call_that_was_answered_is_answered_again_without_a_request(run, provider):
    made = first_round(run)
    before = len(provider.requests), len(run.transcript.entries)
    assert first_round(run) == made
    assert (len(provider.requests), len(run.transcript.entries)) == before


def test_an_image_that_was_changed_where_received_ones_are_kept_stays(run, provider):
    candidate = first_round(run)["cut"][0]
    prototype = Prototype(candidate, paid(run, candidate))
    (run.transcript.bodies.folder / candidate.digest).write_bytes(png(99))
    before = len(provider.requests)
    with pytest.raises(TranscriptError, match="was changed"):
        run.gate.vary(variation(run), prototype)
    assert len(provider.requests) == before


def test_an_image_that_the_provider_never_sent_stays(run, provider):
    candidate = first_round(run)["cut"][0]
    private = dataclasses.replace(candidate, digest=run.transcript.bodies.keep(png(99)))
    prototype = Prototype(private, paid(run, private))
    assert_refused(run, provider, "not what the API sent", lambda: run.gate.vary(variation(run), prototype))


def test_a_receipt_that_the_ledger_does_not_know_opens_nothing(run, provider):
    candidate = first_round(run)["cut"][0]
    forged = dataclasses.replace(paid(run, candidate), events=(Event("exponential", "1"),))
    assert_refused(
        run,
        provider,
        "ledger knows no receipt",
        lambda: run.gate.vary(variation(run), Prototype(candidate, forged)),
    )


def test_a_receipt_for_another_round_opens_nothing(run, provider):
    candidate = first_round(run)["cut"][0]
    receipt = paid(run, candidate, iteration=2)
    assert_refused(
        run,
        provider,
        "another run, iteration or class",
        lambda: run.gate.vary(variation(run), Prototype(candidate, receipt)),
    )


def test_a_prototype_cannot_be_made_for_another_class_than_its_receipt(run):
    candidate = first_round(run)["cut"][0]
    receipt = paid(run, candidate)
    other = dataclasses.replace(candidate, label="good")
    with pytest.raises(EgressError, match="no receipt for its class and iteration"):
        Prototype(other, receipt)


def test_a_prototype_cannot_be_older_than_the_round_that_made_it(run):
    candidate = dataclasses.replace(first_round(run)["cut"][0], iteration=1)
    with pytest.raises(EgressError, match="no receipt for its class and iteration"):
        Prototype(candidate, paid(run, candidate, iteration=1))


def test_a_receipt_that_the_ledger_does_not_know_is_not_put_on_record(run):
    forged = dataclasses.replace(paid(run, first_round(run)["cut"][0]), events=(Event("exponential", "1"),))
    with pytest.raises(EgressError, match="ledger knows no receipt"):
        run.gate.record_receipt(forged)
    assert not run.transcript.has(forged)


@pytest.fixture
def looking(tmp_path, provider) -> SmallRun:
    return SmallRun.open(tmp_path, plan=small_plan(lookahead=2), provider=provider)


def test_lookahead_sends_back_the_candidate_that_the_plan_names(looking, provider):
    made = {each.id: each for of_class in first_round(looking).values() for each in of_class}
    for call in looking.plan.lookaheads(0):
        candidate = made[call.source]
        seen = looking.gate.vary(call, PublicEcho(candidate))
        assert {each.parent for each in seen} == {candidate.id}
        image = looking.transcript.bodies.file(candidate.digest)
        assert provider.requests[-1].body == DIALECT.encode(looking.plan, call, image).body
    assert len(provider.requests) == 1 + 4 + 6


def test_lookahead_cannot_send_any_other_candidate(looking, provider):
    other = first_round(looking)["cut"][1]
    call = next(iter(looking.plan.lookaheads(0)))
    for source in (PublicEcho(other), Prototype(other, paid(looking, other)), None):
        assert_refused(
            looking, provider, "the plan names", lambda source=source: looking.gate.vary(call, source)
        )


def test_text_to_image_carries_no_image(run, provider):
    made = first_round(run)["cut"][0]
    call = next(iter(run.plan.round(0)))
    assert_refused(run, provider, "must carry no image", lambda: run.gate.vary(call, PublicEcho(made)))


def test_image_to_image_does_not_leave_without_an_image(run, provider):
    first_round(run)
    call = variation(run)
    assert_refused(run, provider, "must carry a released prototype", lambda: run.gate.create(call))


def test_the_plan_of_a_run_cannot_change(run):
    with pytest.raises(EgressError, match="on record with another plan"):
        run.gate.begin(small_plan(steps=7), run.account.committed, run.account.measured)


def test_who_knows_what_was_paid_for_cannot_change(run, provider):
    begin = run.gate.begin
    assert_refused(run, provider, "is fixed", lambda: begin(run.plan, lambda receipt: True, lambda _: b""))


def test_a_record_is_closed_where_the_plan_ends_and_not_before(run, provider):
    first_round(run)
    assert_refused(run, provider, "not all of the plan was carried out", run.gate.finish)


def test_headers_are_fixed_and_name_no_library_host_or_user(run, provider):
    first_round(run)
    names = {tuple(name for name, _ in request.headers) for request in provider.requests[1:]}
    assert names == {
        (
            "Host",
            "User-Agent",
            "Accept",
            "Accept-Encoding",
            "Authorization",
            "Content-Type",
            "Content-Length",
        )
    }
    assert {dict(request.headers)["User-Agent"] for request in provider.requests} == {"pcevolve"}


def test_a_request_is_on_disk_before_it_leaves(tmp_path):
    def look(request):
        log = (tmp_path / "transcript" / "log.jsonl").read_text().splitlines()
        seen.append(json.loads(log[-1])["event"]["kind"])

    seen: list[str] = []
    first_round(SmallRun.open(tmp_path, provider=FakeProvider(look)))
    assert set(seen) == {"sent"}


def test_a_retry_sends_the_same_bytes_and_both_attempts_are_on_record(tmp_path):
    def flaky(request):
        attempts.append(request)
        if len(attempts) in {2, 3}:
            raise ConnectionTroubleError("connection refused or no such host")
        return Incoming(503, (), b"{}") if len(attempts) == 4 else None

    attempts: list[object] = []
    run = SmallRun.open(tmp_path, provider=FakeProvider(flaky))
    first_round(run)
    assert attempts[1] == attempts[2] == attempts[3] == attempts[4]
    kinds = [entry.record.kind for entry in run.transcript.entries]
    assert kinds.count("failed") == 2
    assert len(run.transcript.sent()) == len(attempts)


def test_patience_ends(tmp_path):
    def dead(request):
        raise ConnectionTroubleError("connection refused or no such host")

    with pytest.raises(ProviderUnreachableError, match=r"no usable answer .* connection refused"):
        SmallRun.open(tmp_path, provider=FakeProvider(dead))


def test_a_wrong_key_is_not_tried_again(tmp_path):
    provider = FakeProvider(lambda request: Incoming(401, (), b"{}"))
    with pytest.raises(ProviderRefusedError, match="HTTP 401: check the API key"):
        SmallRun.open(tmp_path, provider=provider)
    assert len(provider.requests) == 1


def test_a_wrong_number_of_images_is_refused(tmp_path):
    def greedy(request):
        return None if request.method == "GET" else ok({"images": [{"image": "AAAA", "seed": 1}], "cost": 0})

    run = SmallRun.open(tmp_path, provider=FakeProvider(greedy))
    with pytest.raises(ProviderReplyError, match="sent 1 where 2 were asked for"):
        first_round(run)


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("7", 7, 7),
        ("Wed, 21 Oct 9999 07:28:00 GMT", 60, 60),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 1),
        ("Wed, 21 Oct 2015 07:28:00", 0, 1),
        ("-5", 0, 1),
        ("1e9", 0, 1),
        ("\u0663", 0, 1),
        ("", 0, 1),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_anything_else_is_not_believed(asked, least, most):
    pauses: list[float] = []
    answers = iter([Busy("HTTP 429", asked)])

    def attempt() -> str:
        for answer in answers:
            raise answer
        return "ok"

    assert Patience(seconds=1e12, sleep=pauses.append).until_answered(attempt) == "ok"
    assert least <= pauses[0] <= most


def test_a_date_in_retry_after_is_waited_for():
    pauses: list[float] = []
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    answers = iter([Busy("HTTP 503", soon)])

    def attempt() -> str:
        for answer in answers:
            raise answer
        return "ok"

    Patience(seconds=1e9, sleep=pauses.append).until_answered(attempt)
    assert 28 <= pauses[0] <= 30


@pytest.mark.parametrize("spelling", ["short", "escaped"])
def test_an_unusual_but_honest_answer_does_not_break_the_run(tmp_path, spelling):
    def unusual(request):
        if request.method == "GET":
            return None
        count = json.loads(request.body)["n"]
        text = "AAAA" if spelling == "short" else images.to_base64(png(5))
        made = [{"image": text, "seed": k} for k in range(count)]
        body = json.dumps({"images": made, "cost": 0} if count > 1 else {**made[0], "cost": 0})
        return Incoming(200, (), body.replace("/", "\\/").encode())

    run = SmallRun.open(tmp_path, provider=FakeProvider(unusual))
    made = first_round(run)
    assert all(run.transcript.bodies.file(each.digest) for each in made["cut"])
    run.close()
    assert first_round(SmallRun.open(tmp_path)) == made


@pytest.mark.parametrize(
    ("asked", "told"), [("86400", "24 hours"), ("5400", "90 minutes"), ("9" * 30, "more than a year")]
)
def test_an_api_that_asks_for_more_time_than_there_is_patience_is_not_waited_for(asked, told):
    paused: list[float] = []

    def attempt() -> str:
        raise Busy("HTTP 429 (daily quota)", asked)

    with pytest.raises(
        ProviderUnreachableError, match=rf"asks for {told} of patience.*daily quota.*--resume RUN"
    ):
        Patience(seconds=300, sleep=paused.append).until_answered(attempt)
    assert paused == []


def test_a_call_that_is_not_in_the_plan_stays(run, provider):
    call = dataclasses.replace(next(iter(run.plan.round(0))), count=3)
    assert_refused(run, provider, "not in the public plan", lambda: run.gate.create(call))
