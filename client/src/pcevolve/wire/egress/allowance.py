"""A run's use of the provider: requests and money, counted from the record, retries included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pcevolve.errors import AllowanceError, ProviderReplyError, UsageError
from pcevolve.public.calls import Call
from pcevolve.public.modality import MODALITIES
from pcevolve.public.plan import PublicPlan
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.records import UNSENT, Answered, Record
from pcevolve.public.transcript.traffic import Attempt, Traffic
from pcevolve.wire.providers.dialect import Dialect
from pcevolve.wire.providers.faults import may_have_made

# Prices such as 0.1 have no exact float, and a limit of ten of them must allow the tenth.
_ROUNDING = 1e-9
"""Sums of prices may miss a limit by this much."""


@dataclass(frozen=True)
class Allowance:
    """The limits that the user sets; None where there is no limit.

    ``cost`` is in the provider's currency, and ``price`` that of one image or text, for an API that does not say.
    """

    requests: int | None = None
    cost: float | None = None
    price: float | None = None


@dataclass(frozen=True)
class CostForecast:
    """A run's need if nothing has to be asked twice; ``cost`` is None where no price is known."""

    requests: int
    images: int
    cost: float | None


@dataclass
class Meter:
    """Counts what a run used up, over all its processes, and stops it before a limit is exceeded.

    A request that left and got no answer, or that of a gateway which waited no longer, counts at its expected cost: the
    provider may have made its images. The sum is the most that may be due, and what limits look at.

    Attributes:
        nearby: Whether the API is on the owner's own machine or network, and need not send bills.
        images: Images, or texts, that were answered for, or may have been made for an answer that got lost.
    """

    allowance: Allowance
    dialect: Dialect
    transcript: Transcript
    nearby: bool = False
    images: int = field(default=0, init=False)
    _charged: float = field(default=0.0, init=False)
    """Cost of all that was answered."""
    _owed: int = field(default=0, init=False)
    """Images of requests that are under way, or whose answer got lost."""
    _lost: int = field(default=0, init=False)
    """Those whose answer got lost."""
    _dearest: float | None = field(default=None, init=False)
    """Highest reported cost of one image so far; None while none was reported."""
    _untold: bool = field(default=False, init=False)
    """Whether an answer did not say what it cost."""
    _traffic: Traffic = field(init=False)

    def __post_init__(self) -> None:
        """Count what earlier processes of the run used up, as the record has it."""
        self._traffic = Traffic(self.transcript.plan())
        for entry in self.transcript.entries:
            self.note(entry.record)

    @property
    def requests(self) -> int:
        """The number of requests sent so far."""
        return len(self._traffic.attempts)

    @property
    def greetings(self) -> int:
        """The number of requests so far that no call of the plan is: what the API has, and whether it is there."""
        return sum(each.call is None for each in self._traffic.attempts)

    @property
    def cost(self) -> float:
        """The cost so far, as far as anybody said what an image costs."""
        # What got lost is priced at the dearest and not the mean: the limit is the owner's money.
        return self._charged + (self._each or 0.0) * self._owed

    @property
    def is_priced(self) -> bool:
        """True if there is a price, or every answer so far said what it cost."""
        return self.allowance.price is not None or (self.dialect.reports_cost and not self._untold)

    @property
    def known_cost(self) -> float | None:
        """The cost so far; None where that would be a guess."""
        return self.cost if self.is_priced and not (self._owed and self._each is None) else None

    def bill(self) -> str:
        """Say in words what was asked for so far and what that cost, at most where nobody knows what got lost."""
        return ("up to " if self._lost else "") + self.spell_price(self.images, self.known_cost)

    def spell_price(self, images: int, cost: float | None) -> str:
        """A number of images or texts and what they cost, in words; ``cost`` is None where nobody knows."""
        what = MODALITIES[self.dialect.abilities.makes].nouns.count(images)
        if cost is not None:
            return f"{what}, {spell_money(cost, self.dialect)}"
        if self.nearby:
            return f"{what} by an API on your own machine or network, and no price is known"
        return f"{what}, at your provider's price"

    def fix(self, plan: PublicPlan) -> None:
        """Take the plan, which says how many images each request asks for."""
        self._traffic.plan = plan

    def require(self, slot: str) -> None:
        """Refuse a request that would exceed a limit (``AllowanceError``: which); it has not been sent."""
        allowed, due = self.allowance, self._expect_cost(slot)
        if allowed.requests is not None and self.requests >= allowed.requests:
            raise AllowanceError(
                f"the run has made {self.requests} requests, all that provider.max_requests allows; nothing is "
                f"lost: continue with --resume RUN and a higher provider.max_requests"
            )
        if allowed.cost is not None and self._untold:
            raise AllowanceError(
                "the API did not say what an answer cost, so --max-cost cannot be kept; nothing is lost: continue "
                "with --resume RUN and --set provider.price=PRICE, or without --max-cost"
            )
        if allowed.cost is not None and self.cost + due > allowed.cost + _ROUNDING:
            most = "up to " if self._lost else ""
            raise AllowanceError(
                f"the run has cost {most}{spell_money(self.cost, self.dialect)}, and the next request would exceed "
                f"--max-cost {allowed.cost:g}; nothing is lost: continue with --resume RUN and a higher "
                f"--max-cost"
            )

    def note(self, record: Record) -> None:
        """Count a line that was appended to the record, if it is about a request."""
        attempt = self._traffic.take(record, line=len(self.transcript.entries))
        if attempt is None:
            return
        images = self._images(attempt.sent.slot)
        if attempt.outcome is None:
            self._owed += images
            self.images += images
        elif attempt.usable:
            self._owed -= images
            self._charged += self._cost_of(attempt)
        elif self._may_have_made(attempt):
            self._lost += images
        else:
            self._owed -= images
            self.images -= images

    def list_recorded(self, plan: PublicPlan) -> frozenset[str]:
        """Slots of the calls whose images are on record."""
        return frozenset(slot for slot in plan.calls if self.transcript.outputs(slot) is not None)

    def forecast(self, calls: Iterable[Call]) -> CostForecast:
        """Forecast what is still to come of some calls, from public facts and the record."""
        due = [call for call in calls if self.transcript.outputs(call.slot) is None]
        images = sum(call.count for call in due)
        requests = len(due) + (images if self.dialect.links_images else 0)
        return CostForecast(requests, images, None if self._each is None else self._each * images)

    def check(self, forecast: CostForecast, credit: float | None) -> None:
        """Refuse requests that cannot end within the limits, before the first of them.

        Args:
            credit: What the account holds; None where that is not known.

        Raises:
            UsageError: Which limit is too low, and by how much.
        """
        allowed = self.allowance
        total = self.requests + forecast.requests
        if allowed.requests is not None and total > allowed.requests:
            raise UsageError(
                f"this takes {total} requests, more than provider.max_requests {allowed.requests}"
            )
        if allowed.cost is not None and not self.is_priced:
            raise UsageError(
                f"--max-cost needs provider.price: this API does not say what "
                f"{MODALITIES[self.dialect.abilities.makes].nouns.an} costs"
            )
        if forecast.cost is None:
            return
        whole = self.cost + forecast.cost
        if allowed.cost is not None and whole > allowed.cost + _ROUNDING:
            raise UsageError(
                f"this would cost {spell_money(whole, self.dialect)}, more than --max-cost {allowed.cost:g}"
            )
        if credit is not None and forecast.cost > credit + _ROUNDING:
            raise UsageError(
                f"this would cost {spell_money(forecast.cost, self.dialect)}, and the account holds {credit:g}"
            )

    def _images(self, slot: str) -> int:
        """Return the number of images that the request of a slot asks for; 0 for a link or a question about the API."""
        plan = self._traffic.plan
        call = None if plan is None else plan.calls.get(slot)
        return 0 if call is None else call.count

    def _may_have_made(self, attempt: Attempt) -> bool:
        """True if the provider may have made what an attempt without success asked for."""
        if attempt.answer is None:
            return attempt.failure not in UNSENT
        return may_have_made(attempt.answer.status, self.transcript.bodies.get(attempt.answer.body))

    @property
    def _each(self) -> float | None:
        """The expected cost of one image: its price, or else that of the dearest so far; None if unknown."""
        return self._dearest if self.allowance.price is None else self.allowance.price

    def _expect_cost(self, slot: str) -> float:
        """Return the expected cost of a request; 0 if unknown."""
        return (self._each or 0.0) * self._images(slot)

    def _cost_of(self, attempt: Attempt) -> float:
        """Return the cost of an answer: as it says, or else by the price; an error costs nothing."""
        slot, answer = attempt.sent.slot, attempt.answer
        images = self._images(slot)
        if answer is None or not attempt.usable or not images:
            return 0.0
        reported = self._read_cost(answer)
        if reported is None:
            self._untold |= self.allowance.price is None
            return self._expect_cost(slot)
        self._dearest = max(self._dearest or 0.0, reported / images)
        return reported

    def _read_cost(self, answer: Answered) -> float | None:
        """Return the cost that an answer states; None if it states none."""
        text = answer.body.text  # the images are no part of it, which spares reading them
        body = self.transcript.bodies.get(answer.body) if text is None else text.encode()
        try:
            return self.dialect.cost(body)
        except ProviderReplyError:
            return None


def spell_money(cost: float, dialect: Dialect) -> str:
    """A sum in a provider's currency, in words."""
    return f"{round(cost, 4):,.10g} {dialect.currency}" if cost else "at no charge"
