"""Predict what a run costs and how well it can choose, from public numbers only, before any budget is spent.

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
    (0.4, "weak: most prototypes would be selected by chance"),
    (0.75, "useful: most selections follow the private data"),
    (math.inf, "strong: among the images that the provider draws, the selections follow the private data"),
)
CHANCE = "indistinguishable from random choice"
CHANCE_FACTOR = 1.5
USE_MORE = "use more shots or a larger epsilon, or --method t2i, which spends nothing"
"""Advice if noise makes the selection hardly better than chance."""


@dataclass(frozen=True)
class SecretPlan:
    """A run's promise for declared secrets, and the weight that texts with a secret keep.

    Attributes:
        prior: p, the probability of guessing a secret before the release.
        bound: r, the largest probability of guessing the secret after the release.
        most: The largest number of texts that hold one secret.
        mu: η. The run is μ-GDP for the value of a secret.
        share: The share of its vote that a text with a secret keeps, in [0, 1].
        cells: The number of cells of each class.
        success: The smallest r that this run alone guarantees, for each of several p.
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
    """What a run costs, and how well it can choose.

    Attributes:
        events: All planned events on the private data. Equal events are merged.
        epsilon_per_query: ε of one access: pure ε if the mechanism is pure DP, otherwise ε at δ, and 0 without access.
        epsilon_total: ε of the run, by the accountant that proves the smallest value.
        epsilon_folder: ε for one unit of a folder from which the run draws its private dataset (``data.subsample``).
        totals: ε of the run under each accountant. None if the accountant proves no ε.
        within_budget: Whether the run may start. Only a published calibration can exceed the budget.
        lift_top10: Probability that a prototype is of the best tenth of the candidates, under an ideal utility.
        noise_multiplier: Standard deviation of Gaussian noise over L2 sensitivity. None if the method adds none.
        secrets: The promise for declared secrets. None for a method that does not support secrets.
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
        """Return plain values for JSON, with the scope's fields next to the others."""
        values = asdict(self)
        return {"method": values.pop("method"), **values.pop("scope"), **values}


def plan(
    budget: Budget,
    method: Method,
    scope: Scope,
    calibration: str = "tight",
    appearance: str | None = None,
) -> BudgetPlan:
    """Plan how a method uses a budget.

    Args:
        calibration: ``tight`` or ``published``.
        appearance: ``matched`` or ``as-is``. With None, the method's own mode applies.

    Raises:
        UsageError: The method needs a δ, or has no such calibration.
    """
    return _price(method.accesses(budget, scope, calibration, appearance), budget, method, scope)


def plan_for_noise(
    noise_multiplier: Fraction, delta: float, method: Method, scope: Scope, appearance: str | None = None
) -> BudgetPlan:
    """Price a method at a given noise multiplier of its selection.

    The release of an appearance is priced in addition, with its noise scaled by the same factor.

    Args:
        noise_multiplier: Standard deviation over L2 sensitivity of the accesses that select.
        delta: δ at which ε is computed.
        appearance: ``matched`` or ``as-is``. With None, the method's own mode applies, or ``as-is`` if noise would
            blur the appearance.

    Raises:
        UsageError: The method adds no Gaussian noise, δ is 0, or the noise is too small for any bound.
    """
    mode = appearance or method.appearance
    # The method's own appearance mode is tried first. If noise would blur it, only an explicit choice is kept.
    given = _at_noise(noise_multiplier, delta, method, scope, mode)
    if appearance is None and mode != "as-is" and is_blurred(given[0][0], scope):
        given = _at_noise(noise_multiplier, delta, method, scope, "as-is")
    total = epsilon((event for events in given.values() for event in events), delta)
    # Below some noise no accountant proves a bound, and an infinite epsilon would be printed as a budget.
    if not math.isfinite(total):
        raise UsageError("with so little noise there is no bound: try --noise-multiplier 2")
    return _price(given, Budget(Fraction(total), delta), method, scope)


def _at_noise(
    noise_multiplier: Fraction, delta: float, method: Method, scope: Scope, mode: str
) -> dict[int, tuple[Event, ...]]:
    """Scale the noise of all accesses by one factor, so that the selection has the given multiplier."""
    # Any budget will do, because all noise is scaled by one factor: the proportions do not depend on epsilon.
    accesses = method.accesses(Budget(Fraction(1), delta), scope, appearance=mode)
    selecting = [event for t, events in accesses.items() if t for event in events]
    # The last Gaussian access: an earlier one of the same round pays for a centre or for counts.
    usual = next((event.value for event in reversed(selecting) if event.mechanism == "gaussian"), None)
    if usual is None:
        raise UsageError(
            f"method '{method.name}' adds no Gaussian noise: give --epsilon in place of --noise-multiplier"
        )
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
    # Equal events become one event with a count, which accountants compose more tightly than a sum.
    spent = merge(event for events in accesses.values() for event in events)
    paying = next((events for t, events in accesses.items() if t and merge(events)), ())
    lift = method.lift(paying, scope) if paying else uniform_lift((), scope)
    selecting = paying[-1:]  # after a centre, which class means are measured from
    # The multiplier of the access that selects, which is the number that papers state for a method.
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
        # Exact, unlike the printed epsilon, which is rounded up: a budget must not be refused because of its last
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
    # Pure ε where it exists, because the price of one query then holds at any δ.
    pure = pure_epsilon(one)
    return epsilon(one, delta) if pure is None else above(pure)


def _scale(event: Event, factor: Fraction) -> Event:
    return replace(event, parameter=str(event.value * factor)) if event.mechanism == "gaussian" else event
