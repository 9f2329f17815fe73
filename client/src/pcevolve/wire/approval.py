"""Ask the owner about options that may be mistakes, and about the cost of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pcevolve.errors import DeclinedError, UsageError
from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.run.progress import AT_TERMINAL, Person
from pcevolve.public.selectors import find_method, list_paid_events
from pcevolve.public.selectors.method import first_selection, scope_of
from pcevolve.public.selectors.planner import CHANCE, USE_MORE, describe_lift
from pcevolve.public.selectors.rounds import uniform_lift
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.allowance import Meter
from pcevolve.wire.reaching import ProviderConnection, RunnerJob

LARGE_EPSILON = 20.0
"""Above this ε almost nothing is hidden: e^20 allows a likelihood ratio of nearly 500 million."""
UNTOUCHED = "Cancelled. Nothing was sent or spent"


def approve(
    connection: ProviderConnection,
    calls: Iterable[Call],
    is_agreed: bool,
    doubts: Iterable[str] = (),
    person: Person = AT_TERMINAL,
) -> None:
    """Check that requests and cost are within limits, and have a person agree to both, and to each doubt.

    Args:
        is_agreed: Whether the person agreed beforehand.

    Raises:
        DeclinedError: The person declined; nothing was spent.
        UsageError: A limit is too low; only questions about the API itself have been sent.
    """
    meter, address, due = connection.meter, connection.address, tuple(calls)
    asks = not address.is_nearby or meter.allowance.cost is not None or meter.allowance.price is not None
    # The provider sees the question for the balance too, so it is sent only if the balance matters.
    meter.check(meter.forecast(due), connection.gate.questions.balance() if asks else None)
    # The limits were checked first, because they apply even with ``--yes``.
    if is_agreed:
        return
    for doubt in doubts:
        elsewhere = f"{doubt}: the run was not started, and nothing was spent; to start it anyway, give --yes"
        _ask(person, f"{doubt}: start anyway?", elsewhere)
    _ask_for_requests(person, address, meter, due)


def _ask_for_requests(person: Person, address: Address, meter: Meter, due: Iterable[Call]) -> None:
    """Ask at a terminal whether to send this many requests to a remote API."""
    forecast = meter.forecast(due)
    if forecast.requests and not address.is_nearby and person.is_there():
        _ask(
            person,
            f"{forecast.requests} requests to {address.base_url} for "
            f"{meter.spell_price(forecast.images, forecast.cost)}: continue?",
        )


def require_liking(plan: PublicPlan, job: RunnerJob, doubt: str = "", person: Person = AT_TERMINAL) -> None:
    """Ask a person, if there is one, whether the first images are right, before budget is spent (``DeclinedError``).

    ``doubt`` is a reason against the images; the question names this reason.
    """
    if not find_method(plan.method.name).queries_data or job.settings.provider.yes or not person.is_there():
        return
    _ask(
        person,
        f"{doubt and f'{doubt}. '}Do these images look like your domain? Continue?",
        refused="Cancelled. No privacy budget was spent. Try other words, another model or a library of "
        "public images with another --out. To continue this run after all: "
        f"{job.folder.resume_command}",
    )


def list_doubts(plan: PublicPlan) -> Iterator[str]:
    """Yield reasons why the owner may not want a run, from public facts; none for a run that spends nothing."""
    paid, method = list_paid_events(plan), find_method(plan.method.name)
    if not paid:
        return
    loss = PrivacyLoss.of(plan, paid)
    if loss.epsilon > LARGE_EPSILON:
        yield (
            f"--epsilon {float(plan.budget.epsilon):g} allows {loss.say()}; an epsilon above "
            f"{LARGE_EPSILON:g} protects almost nothing"
        )
    selecting, scope = first_selection(method.plan_events(plan)), scope_of(plan)
    if selecting and describe_lift(method.lift(selecting, scope), uniform_lift((), scope)) == CHANCE:
        yield (
            f"with --epsilon {float(plan.budget.epsilon):g} and --method {method.name}, the selection is "
            f"{CHANCE}, so the budget would be wasted; {USE_MORE}"
        )


def _ask(person: Person, question: str, elsewhere: str = "", refused: str = UNTOUCHED) -> None:
    """Ask a person for consent.

    Raises:
        DeclinedError: The answer is no.
        UsageError: There is nobody to ask.
    """
    if not person.is_there():
        raise UsageError(elsewhere)
    if not person.agrees(question):
        raise DeclinedError(refused)
