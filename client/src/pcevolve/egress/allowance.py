"""What a run uses up at the provider: requests and money, counted from the record, retries included."""

from __future__ import annotations

from dataclasses import dataclass, field

from pcevolve.errors import AllowanceError, ProviderReplyError, UsageError
from pcevolve.providers.dialect import Dialect
from pcevolve.public.plan import PublicPlan
from pcevolve.transcript import Attempt, Traffic, Transcript
from pcevolve.transcript.records import Answered, Record

_ROUNDING = 1e-9
"""Sums of prices may miss a limit by this much."""


@dataclass(frozen=True)
class Allowance:
    """What the user allows; None where there is no limit.

    Attributes:
        requests: Requests of the whole run, whatever comes of them.
        cost: Money, in the provider's currency.
        price: Of one image, for an API that does not say what an answer cost.
    """

    requests: int | None = None
    cost: float | None = None
    price: float | None = None


@dataclass(frozen=True)
class Forecast:
    """What a run will still need if nothing has to be asked twice.

    Attributes:
        requests: How many.
        images: How many.
        cost: In the provider's currency; None where no price is known.
    """

    requests: int
    images: int
    cost: float | None


@dataclass
class Meter:
    """Counts what a run used up, over all its processes, and stops it before a limit is exceeded.

    A request that got no answer counts at its expected cost: the provider may have made its images.
    """

    allowance: Allowance
    dialect: Dialect
    transcript: Transcript
    cost: float = field(default=0.0, init=False)
    dearest: float = field(default=0.0, init=False)
    """Highest reported cost of one image so far."""
    _open: dict[str, float] = field(default_factory=dict, init=False)
    """By slot: what a request that is under way, or got no answer, counts at."""
    _traffic: Traffic = field(init=False)

    def __post_init__(self) -> None:
        """Count what earlier processes of the run used up, as the record has it."""
        self._traffic = Traffic(self.transcript.plan())
        for entry in self.transcript.entries:
            self.note(entry.record)

    @property
    def requests(self) -> int:
        """How many requests were sent so far."""
        return len(self._traffic.attempts)

    @property
    def knows_cost(self) -> bool:
        """Whether the cost is more than a guess."""
        return self.allowance.price is not None or self.dialect.reports_cost

    def known_cost(self) -> float | None:
        """What it has cost so far; None where that would be a guess."""
        return self.cost if self.knows_cost else None

    def fix(self, plan: PublicPlan) -> None:
        """Take the plan, which says how many images each request asks for."""
        self._traffic.plan = plan

    def require(self, slot: str) -> None:
        """Refuse a request that would exceed a limit.

        Raises:
            AllowanceError: Which limit; the request has not been sent.
        """
        allowed, due = self.allowance, self._expected(slot)
        if allowed.requests is not None and self.requests >= allowed.requests:
            raise AllowanceError(
                f"the run has made {self.requests} requests, all that --max-requests allows; nothing is lost: "
                "continue with --resume RUN and a higher --max-requests"
            )
        if allowed.cost is not None and self.cost + due > allowed.cost + _ROUNDING:
            raise AllowanceError(
                f"the run has cost {self.cost:g} and the next request would exceed --max-cost {allowed.cost:g}; "
                "nothing is lost: continue with --resume RUN and a higher --max-cost"
            )

    def note(self, record: Record) -> None:
        """Count a line that was appended to the record."""
        attempt = self._traffic.take(record, line=len(self.transcript.entries))
        if attempt is None:
            return
        slot = attempt.sent.slot
        if attempt.outcome is None:
            self._open[slot] = self._expected(slot)
            self.cost += self._open[slot]
        elif attempt.answer is not None:
            self.cost += self._charged(attempt) - self._open.pop(slot, 0.0)

    def forecast(self, plan: PublicPlan) -> Forecast:
        """What is still to come, from public facts and the record."""
        due = [call for call in plan.calls.values() if self.transcript.outputs(call.slot) is None]
        images = sum(call.count for call in due)
        requests = len(due) + (images if self.dialect.links_images else 0)
        price = self.allowance.price
        return Forecast(requests, images, None if price is None else price * images)

    def check(self, forecast: Forecast, credit: float | None) -> None:
        """Refuse a run that cannot end within its limits, before it starts.

        Args:
            forecast: Of the run, or of the rest of it.
            credit: What the account holds; None where that is not known.

        Raises:
            UsageError: Which limit is too low, and by how much.
        """
        allowed = self.allowance
        total = self.requests + forecast.requests
        if allowed.requests is not None and total > allowed.requests:
            raise UsageError(f"this run takes {total} requests, more than --max-requests {allowed.requests}")
        if allowed.cost is not None and not self.knows_cost:
            raise UsageError("--max-cost needs --price: this API does not say what an image costs")
        if forecast.cost is None:
            return
        whole = self.cost + forecast.cost
        if allowed.cost is not None and whole > allowed.cost + _ROUNDING:
            raise UsageError(f"this run would cost {whole:g}, more than --max-cost {allowed.cost:g}")
        if credit is not None and forecast.cost > credit + _ROUNDING:
            raise UsageError(f"this run would cost {forecast.cost:g}, and the account holds {credit:g}")

    def _images(self, slot: str) -> int:
        """How many images the request of a slot asks for; none where it only follows a link or asks about the API."""
        plan = self._traffic.plan
        call = None if plan is None else plan.calls.get(slot)
        return 0 if call is None else call.count

    def _expected(self, slot: str) -> float:
        """What a request will cost: by the price, or else as much as the dearest image so far."""
        each = self.dearest if self.allowance.price is None else self.allowance.price
        return each * self._images(slot)

    def _charged(self, attempt: Attempt) -> float:
        """What an answer cost: as it says, or else by the price; an error costs nothing."""
        slot, answer = attempt.sent.slot, attempt.answer
        images = self._images(slot)
        if answer is None or not attempt.usable or not images:
            return 0.0
        reported = self._reported(answer)
        if reported is None:
            return self._expected(slot)
        self.dearest = max(self.dearest, reported / images)
        return reported

    def _reported(self, answer: Answered) -> float | None:
        """What an answer says that it cost; None where it does not say."""
        text = answer.body.text  # the images are no part of it, which spares reading them
        body = self.transcript.bodies.get(answer.body) if text is None else text.encode()
        try:
            return self.dialect.cost(body)
        except ProviderReplyError:
            return None
