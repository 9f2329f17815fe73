"""A run's use of the provider, in requests and money, retries included, counted from the record."""

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

# Prices such as 0.1 have no exact float, and a limit of ten times the price must allow the tenth request.
_ROUNDING = 1e-9
"""Tolerance for comparing sums of prices with a limit."""


@dataclass(frozen=True)
class Allowance:
    """The user's limits; None for no limit.

    ``cost`` is in the provider's currency. ``price`` is the cost of one image or text, for an API that does
    not state it.
    """

    requests: int | None = None
    cost: float | None = None
    price: float | None = None


@dataclass(frozen=True)
class CostForecast:
    """A run's requests and cost if nothing has to be repeated; ``cost`` is None without a known price."""

    requests: int
    images: int
    cost: float | None


@dataclass
class Meter:
    """Counts a run's usage over all its processes, and stops the run before a limit is exceeded.

    A request without an answer, or with a gateway's timeout, counts at its expected cost, because the
    provider may have made its images. The sum is an upper bound of what is due, and limits apply to this
    bound.

    Attributes:
        nearby: Whether the API is on the owner's machine or network, and so is perhaps free of charge.
        images: Number of images, or texts, that were received or may have been made for a lost answer.
    """

    allowance: Allowance
    dialect: Dialect
    transcript: Transcript
    nearby: bool = False
    images: int = field(default=0, init=False)
    _charged: float = field(default=0.0, init=False)
    """Cost of all answered requests."""
    _owed: int = field(default=0, init=False)
    """Number of images of requests in flight, or with a lost answer."""
    _lost: int = field(default=0, init=False)
    """Number of images whose answer was lost."""
    _dearest: float | None = field(default=None, init=False)
    """Highest reported cost of one image so far; None before the first report."""
    _untold: bool = field(default=False, init=False)
    """Whether an answer did not state its cost."""
    _traffic: Traffic = field(init=False)

    def __post_init__(self) -> None:
        """Count the usage of the run's earlier processes."""
        self._traffic = Traffic(self.transcript.plan())
        # From the record, not from a counter in a file, because limits apply over all processes of a run.
        for entry in self.transcript.entries:
            self.note(entry.record)

    @property
    def requests(self) -> int:
        return len(self._traffic.attempts)

    @property
    def greetings(self) -> int:
        """Number of requests so far that are not calls of the plan but questions about the API."""
        # Counted separately: they bring no images, but they are requests.
        return sum(each.call is None for each in self._traffic.attempts)

    @property
    def cost(self) -> float:
        """The cost so far, as far as prices are known."""
        # Lost answers count at the highest cost, not the mean, because the limit protects the owner's money.
        return self._charged + (self._each or 0.0) * self._owed

    @property
    def is_priced(self) -> bool:
        """True if there is a price, or every answer so far stated its cost."""
        return self.allowance.price is not None or (self.dialect.reports_cost and not self._untold)

    @property
    def known_cost(self) -> float | None:
        """The cost so far; None if it would be a guess."""
        return self.cost if self.is_priced and not (self._owed and self._each is None) else None

    def bill(self) -> str:
        """Describe usage and cost so far; as an upper bound if answers were lost."""
        return ("up to " if self._lost else "") + self.spell_price(self.images, self.known_cost)

    def spell_price(self, images: int, cost: float | None) -> str:
        """Describe a number of images or texts and their cost; ``cost`` is None if unknown."""
        what = MODALITIES[self.dialect.abilities.makes].nouns.count(images)
        # A known cost is stated even for a nearby API, because its owner may charge for it.
        if cost is not None:
            return f"{what}, {spell_money(cost, self.dialect)}"
        if self.nearby:
            return f"{what} (the API is on your own machine or network, and no price is known)"
        return f"{what}, at your provider's price"

    def fix(self, plan: PublicPlan) -> None:
        """Store the plan, which contains the number of images of each request."""
        self._traffic.plan = plan

    def require(self, slot: str) -> None:
        """Refuse a request that would exceed a limit, before it is sent (``AllowanceError`` names the limit)."""
        allowed, due = self.allowance, self._expect_cost(slot)
        if allowed.requests is not None and self.requests >= allowed.requests:
            raise AllowanceError(
                f"the run has sent {self.requests} requests, as many as provider.max_requests allows; "
                "nothing is lost: continue with --resume RUN and a higher provider.max_requests"
            )
        # After one answer without a cost, the sum is a guess, and a limit on a guess protects nobody.
        if allowed.cost is not None and self._untold:
            raise AllowanceError(
                "the API did not report the cost of an answer, so --max-cost cannot be enforced; nothing "
                "is lost: continue with --resume RUN and --set provider.price=PRICE, or without "
                "--max-cost"
            )
        # Including the next request's own cost: a limit checked afterwards would already be exceeded.
        if allowed.cost is not None and self.cost + due > allowed.cost + _ROUNDING:
            most = "up to " if self._lost else ""
            raise AllowanceError(
                f"the run has cost {most}{spell_money(self.cost, self.dialect)}, and the next request would exceed "
                f"--max-cost {allowed.cost:g}; nothing is lost: continue with --resume RUN and a higher "
                f"--max-cost"
            )

    def note(self, record: Record) -> None:
        """Count a record that was just appended, if it is about a request."""
        attempt = self._traffic.take(record, line=len(self.transcript.entries))
        if attempt is None:
            return
        images = self._images(attempt.sent.slot)
        # Owed as soon as it is on record: if the run crashes now, the request may still have been carried
        # out.
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
        """Return the slots of calls whose images are on record."""
        return frozenset(slot for slot in plan.calls if self.transcript.outputs(slot) is not None)

    def forecast(self, calls: Iterable[Call]) -> CostForecast:
        """Forecast the remaining requests and cost of some calls, from public facts and the record."""
        due = [call for call in calls if self.transcript.outputs(call.slot) is None]
        images = sum(call.count for call in due)
        # A job needs at least one request for its state.
        each = 2 if self.dialect.makes_jobs else 1
        # A lower bound: retries and longer jobs add to it, and limits apply to them as they happen.
        requests = each * len(due) + (images if self.dialect.links_images else 0)
        return CostForecast(requests, images, None if self._each is None else self._each * images)

    def check(self, forecast: CostForecast, credit: float | None) -> None:
        """Refuse requests that cannot finish within the limits, before the first of them.

        Args:
            credit: Balance of the account; None if unknown.

        Raises:
            UsageError: A limit is too low; the message names it and the amount needed.
        """
        allowed = self.allowance
        total = self.requests + forecast.requests
        if allowed.requests is not None and total > allowed.requests:
            raise UsageError(
                f"the run needs {total} requests, more than provider.max_requests {allowed.requests}"
            )
        if allowed.cost is not None and not self.is_priced:
            raise UsageError(
                "--max-cost needs provider.price, because this API does not report what "
                f"{MODALITIES[self.dialect.abilities.makes].nouns.an} costs"
            )
        # Without a price there is nothing to compare; a limit on cost was already refused above.
        if forecast.cost is None:
            return
        whole = self.cost + forecast.cost
        if allowed.cost is not None and whole > allowed.cost + _ROUNDING:
            raise UsageError(
                f"the run would cost {spell_money(whole, self.dialect)}, more than --max-cost "
                f"{allowed.cost:g}"
            )
        if credit is not None and forecast.cost > credit + _ROUNDING:
            raise UsageError(
                f"the run would cost {spell_money(forecast.cost, self.dialect)}, but the account "
                f"holds only {credit:g}"
            )

    def _images(self, slot: str) -> int:
        """Return the number of images that a slot's request asks for; 0 for a link or a question about the API."""
        plan = self._traffic.plan
        call = None if plan is None else plan.calls.get(slot)
        return 0 if call is None else call.count

    def _may_have_made(self, attempt: Attempt) -> bool:
        """True if the provider may have made the images of an unsuccessful attempt."""
        if attempt.answer is None:
            # Nothing is due for a request that was never sent, such as one without a connection.
            return attempt.failure not in UNSENT
        return may_have_made(attempt.answer.status, self.transcript.bodies.get(attempt.answer.body))

    @property
    def _each(self) -> float | None:
        """Expected cost of one image: its price, else the highest cost so far; None if unknown."""
        return self._dearest if self.allowance.price is None else self.allowance.price

    def _expect_cost(self, slot: str) -> float:
        """Return the expected cost of a request; 0 if unknown."""
        return (self._each or 0.0) * self._images(slot)

    def _cost_of(self, attempt: Attempt) -> float:
        """Return an answer's cost, as stated or by the price; an error costs nothing."""
        slot, answer = attempt.sent.slot, attempt.answer
        images = self._images(slot)
        if answer is None or not attempt.usable or not images:
            return 0.0
        reported = self._read_cost(answer)
        if reported is None:
            self._untold |= self.allowance.price is None
            return self._expect_cost(slot)
        # Prices may differ by size or prompt, and a limit has to allow for the highest.
        self._dearest = max(self._dearest or 0.0, reported / images)
        return reported

    def _read_cost(self, answer: Answered) -> float | None:
        """Return the cost that an answer states; None if it states none."""
        text = answer.body.text  # without images, which need not be parsed
        body = self.transcript.bodies.get(answer.body) if text is None else text.encode()
        try:
            return self.dialect.cost(body)
        except ProviderReplyError:
            return None


def spell_money(cost: float, dialect: Dialect) -> str:
    """Return a sum as text, in a provider's currency."""
    return f"{round(cost, 4):,.10g} {dialect.currency}" if cost else "at no charge"
