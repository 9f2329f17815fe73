"""Which bytes a call may carry, whatever is asked of the gate."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from client.wire.egress.rounds import first_round, pay, vary_first
from pcevolve.errors import EgressError
from pcevolve.public.privacy import Event
from pcevolve.public.release import Candidate, Prototype, PublicEcho
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.policy import Policy
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.getimg import GetimgDialect
from pcevolve_shared import images
from support.provider import FakeProvider, png
from support.runs import RELEASED, SmallRun, following_plan, small_plan, vary

DIALECT = GetimgDialect()


@pytest.fixture
def looking(tmp_path, provider) -> SmallRun:
    return SmallRun.open(tmp_path, plan=small_plan(lookahead=2), provider=provider)


def assert_refused(run: SmallRun, provider: FakeProvider, reason: str, attempt: Callable[[], object]) -> None:
    before = len(provider.requests), len(run.transcript.entries)
    with pytest.raises(EgressError, match=reason):
        attempt()
    assert (len(provider.requests), len(run.transcript.entries)) == before


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
        (forge_prototype, "ledger has no receipt"),
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
    with pytest.raises(EgressError, match="ledger has no receipt"):
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
            "has a different plan",
        ),
        (lambda run, made: run.gate.begin(run.plan, lambda receipt: True, lambda _: b""), "is already fixed"),
        (lambda run, made: run.gate.finish(), "the plan is not complete"),
    ],
    ids=["text-to-image with one", "image-to-image without one", "another call", "another plan",
         "another who knows what was paid for", "the end before the plan's"],
)  # fmt: skip
def test_what_the_plan_does_not_give_is_refused(run, candidate, provider, attempt, reason: str):
    assert_refused(run, provider, reason, lambda: attempt(run, candidate))


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


def test_what_may_begin_is_what_was_answered_or_is_due_and_nothing_before_there_is_a_plan(run):
    policy = run.gate._policy
    first, *_, last = run.plan.calls.values()
    assert [policy.may_begin(each) for each in (first, last)] == [True, False]
    run.gate.create(first)
    assert policy.may_begin(first)
    policy._state = None
    assert not policy.may_begin(first)


@pytest.mark.parametrize(
    ("name", "changes", "fault"),
    [
        ("openai-plain", {"steps": 50}, "steps is asked for, and it is not"),
        ("openai-plain", {"guidance": 7.5}, "guidance is asked for, and it is not"),
        ("openai-plain", {"negative_prompt": "blur"}, "negative_prompt is asked for, and it is not"),
        ("stability", {"sized": True}, "size is asked for, and it is not"),
        ("siliconflow", {"graded": True, "strengths": (0.8, 0.7)}, "strength is asked for, and it is not"),
        ("siliconflow", {"adapter": "ip", "adapter_scale": 1.0}, "adapter is asked for, and it is not"),
        ("getimg", {"steps": None}, "steps is not asked for, and it is"),
        ("getimg", {"sized": False}, "size is not asked for, and it is"),
    ],
)
def test_a_plan_that_says_what_its_requests_do_not_lets_nothing_out(
    tmp_path: Path, name: str, changes: dict[str, object], fault: str
):
    plan = small_plan(dialect=name, **changes)
    policy = Policy(dialect(name), Address(plan.provider.api), Bodies(tmp_path))
    with pytest.raises(EgressError, match=f"the plan says that {fault}"):
        policy.fix(plan, lambda receipt: True)
