"""Requests and money: counted from the record, retries included, and never beyond what the user allows."""

from __future__ import annotations

import json

import pytest

from pcevolve.egress.allowance import Allowance, Forecast, Meter
from pcevolve.egress.transport import ConnectionTroubleError, Incoming
from pcevolve.errors import AllowanceError, UsageError
from pcevolve.providers import dialect
from pcevolve.transcript.log import Transcript
from support.provider import FakeProvider, ok
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


def meter_of(run: SmallRun, allowance: Allowance = Allowance(), name: str = "getimg") -> Meter:  # noqa: B008
    return Meter(allowance, dialect(name), run.transcript)


def test_requests_and_reported_costs_add_up_over_processes(tmp_path):
    run = SmallRun.open(tmp_path, provider=Billing())
    run.evolve()
    run.close()
    again = SmallRun.open(tmp_path, provider=Billing())
    meter = meter_of(again)
    assert (meter.requests, meter.cost) == (CALLS + 1, EACH * IMAGES)


def test_the_next_request_beyond_max_requests_does_not_leave_and_the_run_goes_on_later(tmp_path):
    provider = Billing()
    run = SmallRun.open(tmp_path, provider=provider, allowance=Allowance(requests=4))
    with pytest.raises(AllowanceError, match=r"made 4 requests.*--resume RUN and a higher --max-requests"):
        run.evolve()
    assert len(provider.requests) == 4
    run.close()
    SmallRun.open(tmp_path, provider=provider, allowance=Allowance(requests=CALLS + 1)).finish()
    assert len(provider.requests) == CALLS + 1


def test_the_next_request_beyond_max_cost_does_not_leave_and_the_run_goes_on_later(tmp_path):
    provider = Billing()
    run = SmallRun.open(tmp_path, provider=provider, allowance=Allowance(cost=1.3))
    with pytest.raises(AllowanceError, match=r"cost 1.25 and the next request would exceed --max-cost 1.3"):
        run.evolve()
    assert run.gate._meter.cost <= 1.3
    run.close()
    again = SmallRun.open(tmp_path, provider=provider, allowance=Allowance(cost=EACH * IMAGES))
    again.finish()
    assert again.gate._meter.cost == EACH * IMAGES


def test_a_price_is_for_apis_that_do_not_say(tmp_path):
    run = SmallRun.open(tmp_path, provider=Billing(lambda request: None))
    run.evolve()
    assert meter_of(run, Allowance(price=9.0)).cost == EACH * IMAGES
    assert meter_of(run, Allowance(price=9.0), "stability").cost == 9.0 * IMAGES
    assert not meter_of(run, name="stability").knows_cost


def test_retries_count_and_what_got_lost_counts_at_its_expected_cost(tmp_path):
    def flaky(request):
        attempts.append(request)
        if len(attempts) == 2:
            raise ConnectionTroubleError("the connection broke")
        return Incoming(503, (), b"") if len(attempts) == 3 else None

    attempts: list[object] = []
    run = SmallRun.open(tmp_path, provider=Billing(flaky), allowance=Allowance(price=1.0))
    run.evolve()
    first = next(iter(run.plan.calls.values())).count
    for meter in (run.gate._meter, meter_of(run, Allowance(price=1.0))):
        assert meter.requests == CALLS + 3
        assert meter.cost == pytest.approx(EACH * IMAGES + 1.0 * first)


def test_a_retry_too_many_stops_the_run_before_it_leaves(tmp_path):
    provider = Billing(lambda request: None if request.method == "GET" else Incoming(503, (), b""))
    run = SmallRun.open(tmp_path, provider=provider, allowance=Allowance(requests=3))
    with pytest.raises(AllowanceError, match="made 3 requests"):
        run.evolve()
    assert len(provider.requests) == 3


def test_a_forecast_is_what_is_still_to_come(tmp_path):
    run = SmallRun.open(tmp_path, provider=Billing())
    meter = meter_of(run, Allowance(price=2.0))
    assert meter.forecast(run.plan) == Forecast(CALLS, IMAGES, 2.0 * IMAGES)
    assert meter_of(run, name="siliconflow").forecast(run.plan) == Forecast(CALLS + IMAGES, IMAGES, None)
    run.evolve()
    assert meter.forecast(run.plan) == Forecast(0, 0, 0.0)


@pytest.mark.parametrize(
    ("allowance", "credit", "message"),
    [
        (Allowance(requests=9), None, "takes 10 requests, more than --max-requests 9"),
        (Allowance(cost=1.0), None, "--max-cost needs --price"),
        (Allowance(cost=39.9, price=2.0), None, "would cost 40, more than --max-cost 39.9"),
        (Allowance(price=2.0), 39.5, "would cost 40, and the account holds 39.5"),
    ],
)
def test_a_run_that_cannot_end_within_its_limits_is_refused_before_it_starts(
    tmp_path, allowance, credit, message
):
    meter = Meter(allowance, dialect("stability"), Transcript(tmp_path))
    forecast = Forecast(10, 20, None if allowance.price is None else 40.0)
    with pytest.raises(UsageError, match=message):
        meter.check(forecast, credit)


@pytest.mark.parametrize("allowance", [Allowance(), Allowance(requests=10), Allowance(cost=40.0, price=2.0)])
def test_a_run_within_its_limits_may_start(tmp_path, allowance):
    meter = Meter(allowance, dialect("stability"), Transcript(tmp_path))
    meter.check(Forecast(10, 20, None if allowance.price is None else 40.0), 40.0)
