"""Plan a run's cost and worth before anything is spent; public numbers only.

>>> describe_lift(lift=0.12, chance=0.1)
'indistinguishable from random choice'
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from pcevolve.errors import UsageError
from pcevolve.public.dp.accountants import ACCOUNTANTS, above, epsilon, merge, pure_epsilon, within
from pcevolve.public.dp.calibration import scale_to_folder
from pcevolve.public.figures import finite_or_none
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.selectors.method import Method
from pcevolve.public.selectors.rounds import Scope, is_blurred, uniform_lift

VERDICTS = (
    (0.4, "weak: most prototypes would be chosen by luck"),
    (0.75, "useful: selection follows the private data more often than not"),
    (math.inf, "strong: choices follow the private data, among what the provider draws"),
)
CHANCE = "indistinguishable from random choice"
CHANCE_FACTOR = 1.5
USE_MORE = "use more shots or a larger epsilon, or --method t2i, which spends nothing"
"""What to do about a selection that noise hides."""


@dataclass(frozen=True)
class SecretPlan:
    """A run's promise to declared secrets, and the part of a vote that texts with a secret keep.

    Attributes:
        mu: η; the run is μ-GDP for the value of a secret.
        share: The part that is left of the vote of a text with a secret, in [0, 1].
        success: r by p, for this run alone.
    """

    prior: float
    bound: float
    most: int
    mu: float
    share: float
    cells: int
    success: dict[float, float]


@dataclass(frozen=True)
class BudgetPlan:
    """The price and the worth of a run.

    Attributes:
        events: All planned events on the private data; equal events are merged.
        epsilon_per_query: ε of one access: pure if the mechanism is pure DP, else at δ; 0 if none looks.
        epsilon_total: ε of the run, by the accountant that proves the least.
        epsilon_folder: ε for one unit of a folder that the run draws its private dataset from
            (``data.subsample``).
        totals: ε of the run under each accountant; None where it proves none.
        within_budget: Whether the run may start; only a published calibration can fail to fit.
        lift_top10: Probability that a prototype is of the best tenth of the candidates, under an ideal
            utility.
        noise_multiplier: Standard deviation of Gaussian noise over L2 sensitivity; None for other methods.
        secrets: What is promised to declared secrets; None for a method that takes none.
    """

    method: str
    scope: Scope
    delta: float
    events: tuple[Event, ...]
    epsilon_per_query: float
    epsilon_total: float
    epsilon_folder: float
    totals: dict[str, float | None]
    within_budget: bool
    lift_top10: float
    noise_multiplier: float | None
    sigma: float | None
    sigma_unit: str | None
    verdict: str
    reason: str = ""
    secrets: SecretPlan | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, the scope's fields beside the others."""
        values = asdict(self)
        return {"method": values.pop("method"), **values.pop("scope"), **values}


def plan(
    budget: Budget,
    method: Method,
    scope: Scope,
    calibration: str = "tight",
    appearance: str | None = None,
) -> BudgetPlan:
    """Plan a method's use of a budget.

    Args:
        appearance: ``matched`` or ``as-is``; the method's own if None.

    Raises:
        UsageError: The method needs a δ, or has no such calibration.
    """
    return _price(method.accesses(budget, scope, calibration, appearance), budget, method, scope)


def plan_for_noise(
    noise_multiplier: Fraction, delta: float, method: Method, scope: Scope, appearance: str | None = None
) -> BudgetPlan:
    """Price a method at a given noise multiplier of its selection; an appearance costs its share in addition.

    Args:
        noise_multiplier: Standard deviation over L2 sensitivity of the accesses that select.

    Raises:
        UsageError: The method adds no Gaussian noise, δ is 0, or the noise bounds nothing.
    """
    mode = appearance or method.appearance
    # With the method's own appearance first; only an explicit choice stays when the noise would blur it.
    given = _at_noise(noise_multiplier, delta, method, scope, mode)
    if appearance is None and mode != "as-is" and is_blurred(given[0][0], scope):
        given = _at_noise(noise_multiplier, delta, method, scope, "as-is")
    total = epsilon((event for events in given.values() for event in events), delta)
    # Below some noise no accountant proves anything, and an infinite epsilon would be printed as a budget.
    if not math.isfinite(total):
        raise UsageError("so little noise gives no bound: try --noise-multiplier 2")
    return _price(given, Budget(Fraction(total), delta), method, scope)


def _at_noise(
    noise_multiplier: Fraction, delta: float, method: Method, scope: Scope, mode: str
) -> dict[int, tuple[Event, ...]]:
    """Scale all noise of a method's accesses alike, so that its selection has the given multiplier."""
    # Any budget will do: all noise of a method is scaled alike, so its proportions do not depend on epsilon.
    accesses = method.accesses(Budget(Fraction(1), delta), scope, appearance=mode)
    selecting = [event for t, events in accesses.items() if t for event in events]
    # The last Gaussian access: an earlier one of the same round pays for a centre or for counts.
    usual = next((event.value for event in reversed(selecting) if event.mechanism == "gaussian"), None)
    if usual is None:
        raise UsageError(f"method '{method.name}' adds no Gaussian noise: give --epsilon instead")
    factor = noise_multiplier / usual
    return {t: tuple(_scale(event, factor) for event in events) for t, events in accesses.items()}


def describe_lift(lift: float, chance: float) -> str:
    """Describe a lift in plain words."""
    if lift < CHANCE_FACTOR * chance:
        return CHANCE
    return next(words for limit, words in VERDICTS if lift < limit)


def _price(
    accesses: Mapping[int, tuple[Event, ...]], budget: Budget, method: Method, scope: Scope
) -> BudgetPlan:
    # Equal events are merged into one with a count, which accountants compose more tightly than a sum.
    spent = merge(event for events in accesses.values() for event in events)
    paying = next((events for t, events in accesses.items() if t and merge(events)), ())
    lift = method.lift(paying, scope) if paying else uniform_lift((), scope)
    selecting = paying[-1:]  # after a centre, which class means are measured from
    # Named after the access that selects, which is what papers state for a method.
    multiplier = next((float(event.value) for event in selecting if event.mechanism == "gaussian"), None)
    hides = None if multiplier is None else method.sensitivity
    return BudgetPlan(
        method=method.name,
        scope=scope,
        delta=budget.delta,
        events=spent,
        epsilon_per_query=_per_query(merge(selecting), budget.delta),
        epsilon_total=epsilon(spent, budget.delta),
        epsilon_folder=epsilon(scale_to_folder(spent, True), budget.delta),
        totals={each.name: finite_or_none(each.epsilon(spent, budget.delta)) for each in ACCOUNTANTS},
        # Exact, unlike the printed epsilon, which is rounded up: a budget must not be refused for its last
        # digit.
        within_budget=within(spent, budget),
        lift_top10=lift,
        noise_multiplier=multiplier,
        sigma=multiplier * hides.of(scope.relation) if multiplier and hides else None,
        sigma_unit=hides.unit if hides else None,
        verdict=describe_lift(lift, uniform_lift((), scope)),
    )


def _per_query(paying: tuple[Event, ...], delta: float) -> float:
    one = tuple(replace(event, count=1) for event in paying[:1])
    # Pure where it can be: then the price of one query holds at any delta.
    pure = pure_epsilon(one)
    return epsilon(one, delta) if pure is None else above(pure)


def _scale(event: Event, factor: Fraction) -> Event:
    return replace(event, parameter=str(event.value * factor)) if event.mechanism == "gaussian" else event
