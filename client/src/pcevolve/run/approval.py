"""Before a run begins: limits on requests and cost, and what a person should say yes to knowingly."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import typer

from pcevolve.dp.accountants import epsilon
from pcevolve.egress.allowance import Forecast, Meter
from pcevolve.egress.gate import Gate
from pcevolve.egress.transport import Address
from pcevolve.errors import UsageError
from pcevolve.methods.lift import uniform_lift
from pcevolve.methods.method import first_selection, scope_of
from pcevolve.methods.planner import CHANCE, verdict
from pcevolve.public.calls import Call
from pcevolve.public.figures import loss
from pcevolve.public.plan import PublicPlan
from pcevolve.run.components import Components
from pcevolve.run.folder import RunFolder
from pcevolve.run.settings import RunSettings

LARGE_EPSILON = 20.0
"""Above it the promise is worth little: e^20 is a factor of half a thousand million."""
UNTOUCHED = "not started, as you wish: no prompt and no image was sent, and nothing was spent"


def costs_ahead(plan: PublicPlan, meter: Meter) -> dict[str, str]:
    """What a run has cost and will cost at the provider, by title: its first images, and all that is to come."""
    look, rest = meter.forecast(plan.opening), meter.forecast(plan.calls.values())
    unknown = "" if rest.cost is not None or meter.nearby else " (--price says it beforehand)"
    whole = "cost of the rest" if meter.images else "cost of the whole"
    return {
        **({"cost so far": meter.bill()} if meter.images else {}),
        **({"cost of a look": f"{meter.priced(look.images, look.cost)}{unknown}"} if look.images else {}),
        **({whole: f"{meter.priced(rest.images, rest.cost)}{unknown}"} if rest.images else {}),
    }


def approve(
    components: Components, plan: PublicPlan, calls: Iterable[Call], gate: Gate, meter: Meter, begun: bool
) -> None:
    """Make sure that requests and cost are within limits, and that a person wants this run.

    Args:
        components: What the run is made of.
        plan: What it would do.
        calls: Those that are to be made now: all of them, or the first, to be looked at.
        gate: Asks what is left on the account.
        meter: Adds up requests and cost.
        begun: Whether the plan is on record already, and was wanted when it was put there.

    Raises:
        UsageError: A limit is too low, or nobody wants it; nothing has been sent but questions about the API itself.
    """
    forecast = _within_limits(components.address, calls, gate, meter)
    if components.settings.yes:
        return
    if not begun:
        for doubt in doubts(components, plan):
            _ask(
                f"{doubt}: go on?", f"{doubt}: not started, nothing was spent; --yes says that it is meant so"
            )
    _ask_for_requests(components.address, plan, meter, forecast)


def approve_requests(
    address: Address, settings: RunSettings, plan: PublicPlan, gate: Gate, meter: Meter
) -> None:
    """Make sure that requests and cost are within limits, and that a person wants them where they may cost something.

    Raises:
        UsageError: A limit is too low, or nobody wants them; nothing has been sent but questions about the API itself.
    """
    forecast = _within_limits(address, plan.calls.values(), gate, meter)
    if not settings.yes:
        _ask_for_requests(address, plan, meter, forecast)


def _within_limits(address: Address, calls: Iterable[Call], gate: Gate, meter: Meter) -> Forecast:
    """What is still to come of some calls, if no limit forbids it."""
    forecast = meter.forecast(calls)
    asks = not address.is_nearby or meter.allowance.cost is not None or meter.allowance.price is not None
    meter.check(forecast, gate.balance() if asks else None)
    return forecast


def _ask_for_requests(address: Address, plan: PublicPlan, meter: Meter, forecast: Forecast) -> None:
    """Ask at a terminal whether an API elsewhere shall be used so much."""
    if not address.is_nearby and sys.stdin.isatty():
        _ask(
            f"{forecast.requests} requests to {plan.api} for {meter.priced(forecast.images, forecast.cost)}: go on?"
        )


def require_liking(components: Components, folder: RunFolder) -> None:
    """Have a person who can be asked look at the first images before the budget is spent on choosing.

    Raises:
        UsageError: They are not what is wanted; no privacy budget was spent.
    """
    if not components.method.compares or components.settings.yes or not sys.stdin.isatty():
        return
    _ask(
        "Do these look like your domain? Go on?",
        refused="not continued, as you wish: no privacy budget was spent. Try other words, another model or a library "
        f"of public images with another --out, or go on after all with pcevolve run --resume {folder.root}",
    )


def doubts(components: Components, plan: PublicPlan) -> list[str]:
    """Why a run may not be what its owner wants, from public facts; nothing of one that spends nothing."""
    planned = components.method.planned(plan)
    paid = [event for events in planned.values() for event in events if not event.free]
    if not paid:
        return []
    found = []
    total = epsilon(paid, plan.delta)
    if total > LARGE_EPSILON:
        found.append(
            f"--epsilon {float(plan.budget.epsilon):g} allows epsilon {loss(total)}, which hides almost nothing (above "
            f"{LARGE_EPSILON:g})"
        )
    selecting = first_selection(planned)
    scope = scope_of(plan)
    if selecting and verdict(components.method.lift(selecting, scope), uniform_lift((), scope)) == CHANCE:
        found.append(
            f"with --epsilon {float(plan.budget.epsilon):g} and --method {components.method.name}, the selection "
            f"{CHANCE}, and the budget would be spent all the same"
        )
    return found


def _ask(question: str, elsewhere: str = "", refused: str = UNTOUCHED) -> None:
    """Ask at a terminal; elsewhere nobody can answer.

    Raises:
        UsageError: The answer is no, or there is nobody to ask.
    """
    if not sys.stdin.isatty():
        raise UsageError(elsewhere)
    if not typer.confirm(question, err=True):
        raise UsageError(refused)
