"""The gate: nothing leaves that the plan and a paid release do not give, byte for byte."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pcevolve.egress.address import Address, Route
from pcevolve.egress.gate import Gate
from pcevolve.egress.retry import Busy, RetryPolicy
from pcevolve.egress.transport import Incoming
from pcevolve.errors import (
    EgressError,
    ProviderUnreachableError,
    TranscriptError,
)
from pcevolve.ledger.ledger import Paid
from pcevolve.privacy import Event
from pcevolve.providers.getimg import GetimgDialect
from pcevolve.public.release import Candidate, Choice, Chosen, Prototype, PublicEcho, Query
from pcevolve.transcript.log import Transcript
from pcevolve_shared import images, wire
from support.provider import FakeProvider, png
from support.runs import ADDRESS, RELEASED, RUN_ID, SmallRun, following_plan, small_plan, vary

DIALECT = GetimgDialect()


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider()


@pytest.fixture
def run(tmp_path, provider) -> SmallRun:
    return SmallRun.open(tmp_path, provider=provider)


@pytest.fixture
def looking(tmp_path, provider) -> SmallRun:
    return SmallRun.open(tmp_path, plan=small_plan(lookahead=2), provider=provider)


def first_round(run: SmallRun) -> dict[str, tuple[Candidate, ...]]:
    made = dict.fromkeys(run.plan.labels, ())
    for call in run.plan.round(0):
        made[call.label] += run.gate.create(call)
    return made


@pytest.fixture
def candidate(run) -> Candidate:
    """The first of class "cut", which the provider has sent."""
    return first_round(run)["cut"][0]


def pay(run: SmallRun, candidate: Candidate, iteration: int = 1):
    choice = Choice(candidate.label, (Chosen(candidate.id, candidate.digest),))
    return run.account.pay(Query(run.plan.run_id, iteration), (Event("uniform"),), lambda: Paid((choice,)))


def vary_first(run: SmallRun, prototype: Prototype) -> tuple[Candidate, ...]:
    return vary(run.gate, next(iter(run.plan.round(1))), prototype)


def kinds(run: SmallRun) -> list[str]:
    return [entry.record.kind for entry in run.transcript.entries]


def assert_refused(run: SmallRun, provider: FakeProvider, reason: str, attempt: Callable[[], object]) -> None:
    before = len(provider.requests), len(run.transcript.entries)
    with pytest.raises(EgressError, match=reason):
        attempt()
    assert (len(provider.requests), len(run.transcript.entries)) == before


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


def never_sent(run: SmallRun, candidate: Candidate) -> Prototype:
    private = dataclasses.replace(candidate, digest=run.transcript.bodies.keep(png(99)))
    return Prototype(private, pay(run, private))


def forge_prototype(run: SmallRun, candidate: Candidate) -> Prototype:
    receipt = dataclasses.replace(pay(run, candidate), events=(Event("exponential", "1"),))
    return Prototype(candidate, receipt)


@pytest.mark.parametrize(
    ("prototype", "reason"),
    [
        (never_sent, "not what the API sent"),
        (forge_prototype, "ledger knows no receipt"),
        (lambda run, made: Prototype(made, pay(run, made, iteration=2)), "another run, iteration or class"),
    ],
    ids=["an image that never came", "a receipt that nobody paid", "a receipt for another round"],
)
def test_a_prototype_without_a_reason_stays(run, candidate, provider, prototype, reason: str):
    built = prototype(run, candidate)
    assert_refused(run, provider, reason, lambda: vary_first(run, built))


@pytest.mark.parametrize("other", [{"label": "good"}, {"iteration": 1}])
def test_a_prototype_is_of_its_receipts_class_and_made_in_an_earlier_round(run, candidate, other):
    receipt = pay(run, candidate)
    with pytest.raises(EgressError, match="no receipt for its class and iteration"):
        Prototype(dataclasses.replace(candidate, **other), receipt)


def test_a_receipt_that_the_ledger_does_not_know_is_not_put_on_record(run, candidate):
    receipt = forge_prototype(run, candidate).receipt
    with pytest.raises(EgressError, match="ledger knows no receipt"):
        run.gate.record_receipt(receipt)
    assert not run.transcript.has(receipt)


def test_lookahead_sends_back_the_candidate_that_the_plan_names(looking, provider):
    made = {each.id: each for of_class in first_round(looking).values() for each in of_class}
    for call in looking.plan.lookaheads(0):
        candidate = made[call.source]
        seen = vary(looking.gate, call, PublicEcho(candidate))
        assert {each.parent for each in seen} == {candidate.id}
        image = looking.transcript.bodies.file(candidate.digest)
        assert provider.requests[-1].body == DIALECT.encode(looking.plan, call, image).body
    assert len(provider.requests) == 1 + 4 + 6


def test_lookahead_cannot_send_any_other_candidate(looking, provider):
    other = first_round(looking)["cut"][1]
    call = next(iter(looking.plan.lookaheads(0)))
    for source in (PublicEcho(other), Prototype(other, pay(looking, other)), None):
        assert_refused(
            looking, provider, "the plan names", lambda source=source: vary(looking.gate, call, source)
        )


@pytest.mark.parametrize(
    ("attempt", "reason"),
    [
        (lambda run, made: vary(run.gate, next(iter(run.plan.round(0))), PublicEcho(made)), "carry no image"),
        (lambda run, made: run.gate.create(next(iter(run.plan.round(1)))), "carry a released prototype"),
        (
            lambda run, made: run.gate.create(dataclasses.replace(next(iter(run.plan.round(0))), count=3)),
            "not in the public plan",
        ),
        (
            lambda run, made: run.gate.begin(small_plan(steps=7), run.account.is_committed, run.account.read_measured),
            "on record with another plan",
        ),
        (lambda run, made: run.gate.begin(run.plan, lambda receipt: True, lambda _: b""), "is fixed"),
        (lambda run, made: run.gate.finish(), "not all of the plan was carried out"),
    ],
    ids=["text-to-image with one", "image-to-image without one", "another call", "another plan",
         "another who knows what was paid for", "the end before the plan's"],
)  # fmt: skip
def test_what_the_plan_does_not_give_is_refused(run, candidate, provider, attempt, reason: str):
    assert_refused(run, provider, reason, lambda: attempt(run, candidate))


def test_headers_are_fixed_and_name_no_library_host_or_user(run, candidate, provider):
    names = {tuple(name for name, _ in request.headers) for request in provider.requests[1:]}
    always = ("Host", "User-Agent", "Accept", "Accept-Encoding")
    assert names == {(*always, "Authorization", "Content-Type", "Content-Length")}
    assert {dict(request.headers)["User-Agent"] for request in provider.requests} == {"pcevolve"}


def test_a_request_is_on_disk_before_it_leaves(tmp_path):
    def look(request):
        log = (tmp_path / "transcript" / "log.jsonl").read_text().splitlines()
        seen.append(json.loads(log[-1])["event"]["kind"])

    seen: list[str] = []
    first_round(SmallRun.open(tmp_path, provider=FakeProvider(look)))
    assert set(seen) == {"sent"}


def test_a_balance_that_cannot_be_had_does_not_keep_a_run_from_beginning(tmp_path):
    broken = FakeProvider(
        lambda request: Incoming(502, (), b"") if request.url.endswith(wire.BALANCE) else None
    )
    transcript = Transcript(tmp_path / "transcript")
    patience = RetryPolicy(seconds=5, first=1, sleep=lambda seconds: None)
    gate = Gate(transcript, GetimgDialect(), ADDRESS, broken, patience)
    gate.hello(RUN_ID)
    assert gate.balance() is None
    gate.begin(small_plan(), lambda receipt: False, lambda iteration: b"")


@pytest.mark.parametrize("asked", [None, "86400"])
def test_a_first_contact_that_fails_is_made_again_by_the_same_command_for_there_is_no_run_to_resume(asked):
    def busy() -> str:
        raise Busy("HTTP 429", asked)

    patience = RetryPolicy(seconds=5, first=1, sleep=lambda seconds: None, hint="HTTPS_PROXY is not used")
    limits = ("provider.first_contact of 1 s", "provider.patience of 5 s")
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

    with pytest.raises(ProviderUnreachableError, match=r"9 seconds .*more than provider\.patience of 5 s"):
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


# -- Retry-After ---------------------------------------------------------------------------------------------------


def pauses_of(asked: str, seconds: float, sleep: Callable[[float], object] | None = None) -> list[float]:
    """Seconds slept by whoever is told once when to ask again, and has so much patience."""
    pauses: list[float] = []
    answers = iter([Busy("HTTP 429 (daily quota)", asked)])

    def attempt() -> str:
        for answer in answers:
            raise answer
        return "ok"

    assert RetryPolicy(seconds=seconds, sleep=sleep or pauses.append).until_answered(attempt) == "ok"
    return pauses


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("7", 7, 7),
        ("120", 120, 120),
        ("Wed, 21 Oct 9999 07:28:00 GMT", 2e11, 3e11),
        *(
            (unbelieved, 0, 1)
            for unbelieved in ("Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00")
        ),
        *((unbelieved, 0, 1) for unbelieved in ("-5", "1e9", "\u0663", "")),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_anything_else_is_not_believed(asked, least, most):
    assert least <= pauses_of(asked, 1e12)[0] <= most


def test_a_date_in_retry_after_is_waited_for():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 28 <= pauses_of(soon, 1e9)[0] <= 30


@pytest.mark.parametrize(
    ("asked", "told"), [("86400", "24 hours"), ("5400", "90 minutes"), ("9" * 30, "more than a year")]
)
def test_an_api_that_asks_for_more_time_than_there_is_patience_is_not_waited_for(asked, told):
    with pytest.raises(ProviderUnreachableError, match=rf"asks for {told} of patience.*daily quota"):
        pauses_of(asked, 300, lambda seconds: pytest.fail("slept"))


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
    with pytest.raises(EgressError, match="on record with another API"):  # the same way without the proxy
        SmallRun.open(tmp_path, run.plan, address=Address("https://127.0.0.1:9", "secret-key"))


def test_a_run_that_starts_from_a_release_sends_its_images_and_no_other(tmp_path):
    provider = FakeProvider()
    run = SmallRun.open(tmp_path, following_plan(), provider)
    first, *_ = run.plan.calls.values()
    honest = run.gate._policy.find_start(first)
    stored = Candidate(honest.candidate.id, first.label, -1, None, run.transcript.bodies.keep(png(1)))
    other = Candidate("s000-c001-000000", "good", -1, None, run.plan.start.images[1][0])
    asked = len(provider.requests)
    for source in (PublicEcho(stored), PublicEcho(other), None):
        with pytest.raises(EgressError):
            list(run.gate.answers([(first, source)]))
    assert len(provider.requests) == asked
    run.gate.create(first)
    assert images.from_base64(json.loads(provider.requests[-1].body)["image"]) == RELEASED[0]
