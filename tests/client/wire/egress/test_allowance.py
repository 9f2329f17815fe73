"""Requests and money: counted from the record, retries included, and never beyond what the user allows."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from itertools import count

import pytest

from pcevolve.errors import AllowanceError, ProviderUnreachableError, UsageError
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import FailureReason
from pcevolve.wire.egress.allowance import Allowance, CostForecast, Meter
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing
from pcevolve.wire.providers import dialect
from support.provider import Answer, FakeProvider, ok
from support.runs import SmallRun, small_plan

CALLS = len(small_plan().calls)
IMAGES = sum(call.count for call in small_plan().calls.values())
EACH = 0.25


class Billing(FakeProvider):
    """Says what each image costs."""

    def answer(self, request):
        answer = super().answer(request)
        fields = json.loads(answer.body)
        if isinstance(fields, list):
            return answer
        return ok(fields | {"cost": EACH * len(fields.get("images", [1]))})


class Forgetful(Billing):
    """Does not say what one of its answers cost, the third that brings images."""

    def answer(self, request):
        answer = super().answer(request)
        fields = json.loads(answer.body)
        return ok({**fields, "cost": None}) if len(self.requests) == 4 else answer


def meter_of(run: SmallRun, allowance: Allowance = Allowance(), name: str = "getimg") -> Meter:  # noqa: B008
    return Meter(allowance, dialect(name), run.transcript)


@pytest.mark.parametrize(
    ("first", "then", "sent", "said"),
    [
        (Allowance(requests=4), Allowance(requests=CALLS + 1), 4, "sent 4 requests.*--resume RUN"),
        # the greeting, and 1.25 USD
        (
            Allowance(cost=1.3),
            Allowance(cost=EACH * IMAGES),
            1 + 3,
            "next request would exceed --max-cost 1.3",
        ),
    ],
    ids=["requests", "cost"],
)
def test_the_next_request_beyond_a_limit_does_not_leave_and_the_run_goes_on_later(
    tmp_path, first, then, sent, said
):
    provider = Billing()
    run = SmallRun.open(tmp_path, provider=provider, allowance=first)
    with pytest.raises(AllowanceError, match=said):
        run.evolve()
    assert len(provider.requests) == sent
    assert run.gate._meter.cost <= 1.3
    run.close()
    again = SmallRun.open(tmp_path, provider=provider, allowance=then)
    again.finish()
    assert (len(provider.requests), again.gate._meter.cost) == (CALLS + 1, EACH * IMAGES)


def test_a_price_is_for_apis_that_do_not_say(tmp_path):
    run = SmallRun.open(tmp_path, provider=Billing(lambda request: None))
    run.evolve()
    assert meter_of(run, Allowance(price=9.0)).cost == EACH * IMAGES
    assert meter_of(run, Allowance(price=9.0), "stability").cost == 9.0 * IMAGES
    assert meter_of(run, name="stability").known_cost is None


def breaking(at: int, lost: int = 1, reason: FailureReason = "the connection broke") -> Answer:
    """An API whose connection breaks at some requests, and that is busy at the next."""
    attempts: list[Outgoing] = []

    def flaky(request: Outgoing) -> Incoming | None:
        attempts.append(request)
        if at <= len(attempts) < at + lost:
            raise ConnectionTroubleError(reason)
        return Incoming(503, (), b'{"error": "busy"}') if len(attempts) == at + lost else None

    return flaky


def test_retries_count_and_what_got_lost_counts_at_its_expected_cost(tmp_path):
    flaky = breaking(at=2)
    run = SmallRun.open(tmp_path, provider=Billing(flaky), allowance=Allowance(price=1.0))
    run.evolve()
    first = next(iter(run.plan.calls.values())).count
    for meter in (run.gate._meter, meter_of(run, Allowance(price=1.0))):
        assert meter.requests == CALLS + 3
        assert meter.cost == pytest.approx(EACH * IMAGES + 1.0 * first)


@pytest.mark.parametrize(
    "reason",
    ["connection refused or no such host", "no connection in time", "the certificate is out of date"],
)
def test_an_api_that_is_away_costs_nothing(tmp_path, reason):
    allowance, provider = Allowance(cost=EACH * IMAGES, price=EACH), Billing(breaking(at=2, reason=reason))
    first = SmallRun.open(tmp_path, provider=provider, allowance=allowance)
    with suppress(ProviderUnreachableError):  # a certificate is not asked for again
        first.evolve()
    first.close()
    run = SmallRun.open(tmp_path, provider=provider, allowance=allowance)
    run.evolve()
    for meter in (run.gate._meter, meter_of(run, allowance)):
        assert (meter.images, meter.cost) == (IMAGES, EACH * IMAGES)


def test_what_got_lost_before_anybody_had_named_a_price_is_not_free(tmp_path):
    """It leaves beside the first that says what an image costs, and is asked for again when that is known."""
    attempts = count()

    def flaky(request: Outgoing) -> Incoming | None:
        if request.method == "POST" and not next(attempts):
            while not run.gate._meter.cost:
                time.sleep(0.001)
            raise ConnectionTroubleError("the connection broke")
        return None

    run = SmallRun.open(tmp_path, small_plan(batch=1, at_once=2), Billing(flaky))
    run.evolve()
    for meter in (run.gate._meter, meter_of(run)):
        assert (meter.images, meter.cost) == (IMAGES + 1, EACH * (IMAGES + 1))


@pytest.mark.parametrize(
    ("name", "price", "said"),
    [
        ("openai", None, "18 images, at your provider's price"),
        ("openai", 0.04, "18 images, 0.72 in the currency of your account"),
        ("openai-plain", 0.04, "18 images, 0.72 USD"),
        ("stability", 100, "18 images, 1,800 credits"),
        ("a1111", None, "18 images, at no charge"),
        ("chat", None, "18 texts, at your provider's price"),
    ],
)
def test_a_bill_is_in_the_provider_s_currency_and_names_no_sum_that_nobody_knows(tmp_path, name, price, said):
    run = SmallRun.open(tmp_path, provider=FakeProvider())
    run.evolve()
    assert meter_of(run, Allowance(price=price), name).bill() == said


def test_a_limit_on_cost_ends_a_run_whose_answers_stop_saying_what_they_cost(tmp_path):
    provider = Forgetful()
    run = SmallRun.open(tmp_path, provider=provider, allowance=Allowance(cost=100.0))
    with pytest.raises(AllowanceError, match=r"did not report the cost of an answer.*provider\.price=PRICE"):
        run.evolve()
    assert len(provider.requests) == 4
    run.close()
    SmallRun.open(tmp_path, provider=Billing(), allowance=Allowance(cost=100.0, price=0.3)).finish()


def test_a_forecast_is_what_is_still_to_come(tmp_path):
    run = SmallRun.open(tmp_path, provider=Billing())
    meter, calls = meter_of(run, Allowance(price=2.0)), run.plan.calls.values()
    assert meter.forecast(calls) == CostForecast(CALLS, IMAGES, 2.0 * IMAGES)
    assert meter_of(run, name="siliconflow").forecast(calls) == CostForecast(CALLS + IMAGES, IMAGES, None)
    run.evolve()
    assert meter.forecast(calls) == CostForecast(0, 0, 0.0)


@pytest.mark.parametrize(
    ("allowance", "credit", "message"),
    [
        (Allowance(requests=9), None, "needs 10 requests, more than provider.max_requests 9"),
        (Allowance(cost=1.0), None, "--max-cost needs provider.price"),
        (Allowance(cost=39.9, price=2.0), None, "would cost 40 credits, more than --max-cost 39.9"),
        (Allowance(price=2.0), 39.5, "would cost 40 credits, but the account holds only 39.5"),
    ],
)
def test_a_run_that_cannot_end_within_its_limits_is_refused_before_it_starts(
    tmp_path, allowance, credit, message
):
    meter = Meter(allowance, dialect("stability"), Transcript(tmp_path))
    forecast = CostForecast(10, 20, None if allowance.price is None else 40.0)
    with pytest.raises(UsageError, match=message):
        meter.check(forecast, credit)


def test_what_costs_just_what_may_be_spent_is_begun(tmp_path):
    meter = Meter(Allowance(requests=10, cost=0.3, price=0.1), dialect("stability"), Transcript(tmp_path))
    meter.check(CostForecast(10, 3, 0.1 + 0.2), credit=0.3)  # 0.1 + 0.2 > 0.3 in floating point
    meter.check(CostForecast(10, 3, None), credit=0.0)


HTML = b"<html><title>502 Bad Gateway</title></html>"
SAYS_SO = b'{"error": {"message": "overloaded"}}'


@pytest.mark.parametrize(
    ("status", "body", "counts"),
    [
        (504, HTML, True),
        (504, b'{"message": "Endpoint request timed out"}', True),
        (524, HTML, True),
        (502, HTML, True),
        (408, b"", True),
        (503, HTML, True),
        (500, b"Internal Server Error", True),
        (200, b'{"error": {"code": 504, "message": "upstream"}}', True),
        (503, SAYS_SO, False),
        (500, SAYS_SO, False),
        (429, HTML, False),
        (529, SAYS_SO, False),
    ],
)
def test_what_the_provider_may_have_made_for_an_answer_that_a_gateway_gave_counts_as_made(
    tmp_path, status, body, counts
):
    attempts = count()
    provider = Billing(lambda request: Incoming(status, (), body) if next(attempts) == 3 else None)
    run = SmallRun.open(tmp_path, provider=provider)
    run.evolve()
    lost = list(run.plan.calls.values())[2].count if counts else 0
    said = f"{IMAGES + lost} images, {EACH * (IMAGES + lost):g} USD"
    for meter in (run.gate._meter, meter_of(run)):
        assert meter.bill() == ("up to " if counts else "") + said
        assert meter.known_cost == EACH * (IMAGES + lost)


@pytest.mark.parametrize(
    "trouble", [Incoming(504, (), HTML), "the answer took too long", "the connection broke"]
)
def test_a_limit_on_cost_stops_retries_that_may_all_be_billed(tmp_path, trouble):
    def answer(request: Outgoing) -> Incoming | None:
        if request.method == "GET" or len(provider.requests) < 4:
            return None
        if isinstance(trouble, str):
            raise ConnectionTroubleError(trouble)
        return trouble

    provider = Billing(answer)
    run = SmallRun.open(tmp_path, provider=provider, allowance=Allowance(cost=EACH * 8))
    with pytest.raises(AllowanceError, match=r"has cost up to 2 USD, and the next request would exceed"):
        run.evolve()
    assert run.gate._meter.cost <= EACH * 8


def test_a_bill_says_what_was_asked_for_retries_included_and_counts_nothing_twice_when_the_run_goes_on(
    tmp_path,
):
    flaky = breaking(at=3)
    run = SmallRun.open(tmp_path, provider=Billing(flaky))
    assert run.gate._meter.bill() == "0 images, at no charge"
    run.evolve()
    lost = list(run.plan.calls.values())[1].count
    said = f"up to {IMAGES + lost} images, {EACH * (IMAGES + lost):g} USD"
    assert run.gate._meter.bill() == said
    assert meter_of(run).bill() == said
    run.close()
    again = SmallRun.open(tmp_path, provider=Billing(flaky))
    again.evolve()
    assert again.gate._meter.bill() == said


def test_what_a_run_has_cost_so_far_is_a_part_of_what_it_may_cost(tmp_path):
    run = SmallRun.open(tmp_path, provider=Billing())
    run.evolve()
    meter = meter_of(run, Allowance(cost=EACH * (IMAGES + 2), price=EACH))
    meter.check(CostForecast(requests=1, images=2, cost=2 * EACH), None)
    with pytest.raises(UsageError, match="more than --max-cost"):
        meter.check(CostForecast(requests=1, images=3, cost=3 * EACH), None)
