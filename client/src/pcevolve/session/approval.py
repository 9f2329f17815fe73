"""The owner is told what a run costs, promises and assumes, and asked where it may not be what was meant."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite

import typer

from pcevolve.config.config import RunConfig
from pcevolve.dp.attacks import PRIORS, most_success_of, protection, secret_budget
from pcevolve.egress.address import Address
from pcevolve.egress.allowance import Meter
from pcevolve.errors import DeclinedError, UsageError
from pcevolve.ledger.ledger import Account
from pcevolve.privacy import Event
from pcevolve.providers.dialect import Advice
from pcevolve.public.calls import Call
from pcevolve.public.figures import describe_guesses, format_loss
from pcevolve.public.plan import PublicPlan
from pcevolve.publish.loss import Loss
from pcevolve.publish.promises import list_assumptions, state_cumulative_loss
from pcevolve.screen import Line
from pcevolve.selectors.control import uniform_lift
from pcevolve.selectors.method import first_selection, scope_of
from pcevolve.selectors.planner import CHANCE, describe_lift
from pcevolve.session.components import Components
from pcevolve.session.folder import RunFolder
from pcevolve.session.reaching import Connection


@dataclass(frozen=True)
class Fact:
    """Something about a run for its owner's screen.

    Attributes:
        text: What whoever asks for every fact is told.
        brief: What everybody is told instead: None for the same, and empty for nothing.
    """

    title: str
    text: str
    brief: str | None = None

    def line(self, verbose: bool) -> Line:
        """Return the title and what is said under it: all of it, or in brief."""
        return self.title, self.text if verbose or self.brief is None else self.brief


def note_private(components: Components, plan: PublicPlan, account: Account) -> Iterator[Fact]:
    """Yield facts from the ledger and the private data, for the owner alone.

    They are worked out before the API is greeted, which could otherwise tell from the time it takes: which ledger keeps
    count, what it knows of these data and of this provider, and what does not look as the options say.
    """
    paid = list_paid_events(components, plan)
    new = (
        "; it is new: nothing is known of earlier runs on these data. Another user, another machine, a container and "
        "sudo each have a ledger of their own"
    )
    is_news = paid and account.is_first
    short = "new: it knows of no earlier run on these data" if is_news else ""
    yield Fact("ledger", f"{account.ledger}{new if account.is_first else ''}", short)
    before = f"{_before(account)}, by earlier runs on these data" if paid else ""
    is_known = before and not is_news and account.compute_spent_before() > 0
    yield Fact("before", before or "no matter: this run spends nothing", None if is_known else "")
    if together := state_cumulative_loss(plan, paid):
        yield Fact("together", together)
    if over_runs := _over_runs(account):
        yield Fact("all runs", over_runs)
    if plan.secrecy is not None:
        guesses = protection(secret_budget(plan.secrecy.prior, plan.secrecy.bound))
        yield Fact("secrets", f"{describe_guesses(guesses)}; by this release alone")
    yield from _note_shots(components, plan)
    yield from (Fact(title, text) for title, text in components.notes)


def detail_run(components: Components, plan: PublicPlan, advice: Advice | None) -> Iterator[Fact]:
    """Yield what only whoever asks for every fact is told: reasons, the selection's worth, how is asked."""
    paid, method, kind = list_paid_events(components, plan), components.method, plan.modality.kind
    why = f" (auto: {components.encoder_reason})" if components.encoder_reason else ""
    if plan.encoder:
        yield Fact("encoder", plan.encoder + why, "")
    rounds = f"{plan.iterations} round{'' if plan.iterations == 1 else 's'} of variation"
    by_prompt = f" by prompt: no {kind} is sent back" if plan.varies_prompts else ""
    draws = sum(event.count for event in paid)
    yield Fact("accesses", f"{draws} to the private data, {rounds}{by_prompt}", "")
    first, luck = first_selection(method.plan_events(plan)), uniform_lift((), scope_of(plan))
    lift = (method.lift if first else uniform_lift)(first, scope_of(plan))
    best = (
        f"a chosen {kind} is of the best tenth with a probability of at most about {lift:.1%} (luck: {luck:.1%}); that "
        f"is against noise alone, and whether the provider can {plan.modality.verb} your {kind}s is for you to see"
    )
    yield Fact("selection lift", best, "")
    yield Fact("assumed public", "; ".join(list_assumptions(plan)), "")
    yield Fact("asked with", _describe_settings(plan, advice), "")


def _describe_settings(plan: PublicPlan, advice: Advice | None) -> str:
    """Steps, guidance and strengths of images, or length and blanks of texts; and what the provider recommends."""
    degrees = f"{plan.strengths[0]:g} to {plan.strengths[-1]:g}" if plan.strengths else ""
    idle = "; a library draws by guidance, and steps make no difference to it" if plan.library else ""
    return plan.modality.describe_asking(degrees, str(advice) if advice else "") + idle


def list_paid_events(components: Components, plan: PublicPlan) -> tuple[Event, ...]:
    """Return the events of the whole plan on the private data."""
    return tuple(
        event for each in components.method.plan_events(plan).values() for event in each if not event.free
    )


def _note_shots(components: Components, plan: PublicPlan) -> Iterator[Fact]:
    """Yield a note for the owner's screen alone where classes do not hold what the plan says they do."""
    counts = sorted(components.data.count_units_in(label) for label in plan.labels)
    if not components.method.queries_data or plan.class_counts or counts[0] == counts[-1] == plan.shots:
        return
    held = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    yield Fact(
        "NOTE",
        f"your classes hold {held} privacy units each, and --shots says {plan.shots}: released means are divided by "
        "--shots, so they come out too large or too small. It is public: say about how many there are, if that may be "
        "known, or leave some out",
    )


def _over_runs(account: Account) -> str:
    """Say how often listed secrets can be guessed after this release and all others on the same data."""
    listed, borne = account.run.terms.secrets, account.borne_by_secrets()
    if listed is None or borne == ():
        return ""
    if borne is None:
        return "a run that states no epsilon used these data: nothing bounds what all runs together say of a secret"
    curve = describe_guesses({prior: most_success_of([*borne, listed.as_event()], prior) for prior in PRIORS})
    return f"secrets: {curve}; runs with other secrets declared count in full"


def _before(account: Account) -> str:
    """Say what other runs spent on the worst-off unit, as far as this run's δ can state it."""
    spent = account.compute_spent_before()
    return (
        f"epsilon {format_loss(spent)}, counted for whoever is worst off"
        if isfinite(spent)
        else "more than any epsilon can say at this delta: see budget show"
    )


LARGE_EPSILON = 20.0
"""Above it the promise is worth little: e^20 is a factor of half a thousand million."""
UNTOUCHED = "not started, as you wish: no prompt and no image was sent, and nothing was spent"


def forecast_costs(plan: PublicPlan, meter: Meter) -> dict[str, str]:
    """Say by title what a run has cost and will cost at the provider: its first images, and all that is to come."""
    look, rest = meter.forecast(plan.opening), meter.forecast(plan.calls.values())
    unknown = "" if rest.cost is not None or meter.nearby else " (provider.price says it beforehand)"
    whole = "cost of the rest" if meter.images else "cost of the whole"
    return {
        **({"cost so far": meter.bill()} if meter.images else {}),
        **(
            {"cost of a look": f"{meter.spell_price(look.images, look.cost)}{unknown}"} if look.images else {}
        ),
        **({whole: f"{meter.spell_price(rest.images, rest.cost)}{unknown}"} if rest.images else {}),
    }


def approve(
    address: Address,
    settings: RunConfig,
    calls: Iterable[Call],
    connection: Connection,
    doubts: Iterable[str] = (),
) -> None:
    """Make sure that requests and cost are within limits, and that a person wants them, and the run in spite of doubts.

    Raises:
        DeclinedError: Nobody wants them; nothing was spent.
        UsageError: A limit is too low; nothing has been sent but questions about the API itself.
    """
    meter, due = connection.meter, tuple(calls)
    asks = not address.is_nearby or meter.allowance.cost is not None or meter.allowance.price is not None
    # The balance is asked for only where it could matter: every question more is one that the provider sees.
    meter.check(meter.forecast(due), connection.gate.balance() if asks else None)
    # Only then: limits hold for whoever says yes to everything.
    if settings.provider.yes:
        return
    for doubt in doubts:
        _ask(f"{doubt}: go on?", f"{doubt}: not started, nothing was spent; --yes says that it is meant so")
    _ask_for_requests(address, meter, due)


def _ask_for_requests(address: Address, meter: Meter, due: Iterable[Call]) -> None:
    """Ask at a terminal whether an API elsewhere shall be used so much."""
    forecast = meter.forecast(due)
    if forecast.requests and not address.is_nearby and sys.stdin.isatty():
        _ask(
            f"{forecast.requests} requests to {address.base_url} for "
            f"{meter.spell_price(forecast.images, forecast.cost)}: go on?"
        )


def require_liking(components: Components, folder: RunFolder, doubt: str = "") -> None:
    """Have a person who can be asked look at the first images before the budget is spent (``DeclinedError``).

    ``doubt`` is what speaks against them.
    """
    if not components.method.queries_data or components.settings.provider.yes or not sys.stdin.isatty():
        return
    _ask(
        f"{doubt and f'{doubt}. '}Do these look like your domain? Go on?",
        refused="not continued, as you wish: no privacy budget was spent. Try other words, another model or a library "
        f"of public images with another --out, or go on after all with {folder.resume_command}",
    )


def list_doubts(components: Components, plan: PublicPlan) -> Iterator[str]:
    """Yield reasons why a run may not be what its owner wants, from public facts; none for one that spends nothing."""
    paid = list_paid_events(components, plan)
    if not paid:
        return
    loss = Loss.of(plan, paid)
    if loss.epsilon > LARGE_EPSILON:
        yield (
            f"--epsilon {float(plan.budget.epsilon):g} allows {loss.say()}, which hides almost nothing "
            f"(above {LARGE_EPSILON:g})"
        )
    selecting, scope = first_selection(components.method.plan_events(plan)), scope_of(plan)
    if (
        selecting
        and describe_lift(components.method.lift(selecting, scope), uniform_lift((), scope)) == CHANCE
    ):
        yield (
            f"with --epsilon {float(plan.budget.epsilon):g} and --method {components.method.name}, the selection "
            f"{CHANCE}, and the budget would be spent all the same"
        )


def _ask(question: str, elsewhere: str = "", refused: str = UNTOUCHED) -> None:
    """Ask at a terminal; elsewhere nobody can answer.

    Raises:
        DeclinedError: The answer is no.
        UsageError: There is nobody to ask.
    """
    if not sys.stdin.isatty():
        raise UsageError(elsewhere)
    if not typer.confirm(question, err=True):
        raise DeclinedError(refused)
