"""What the owner alone is told before a run: from the ledger and the private data, on the owner's own screen."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from pcevolve.keeper.components import Components
from pcevolve.keeper.ledger.ledger import Account
from pcevolve.public.figures import describe_guesses, format_loss
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.loss import state_cumulative_loss
from pcevolve.public.screen import Fact
from pcevolve.public.selectors import list_paid_events


def note_private(components: Components, plan: PublicPlan, account: Account) -> Iterator[Fact]:
    """Yield facts from the ledger and the private data, for the owner alone.

    They are worked out before the API is greeted, which could otherwise tell from the time it takes: which ledger keeps
    count, what it knows of these data and of this provider, and what does not look as the options say.
    """
    paid = list_paid_events(plan)
    new = (
        "; it is new: nothing is known of earlier runs on these data. Another user, another machine, a container and "
        "sudo each have a ledger of their own"
    )
    is_news = paid and account.is_first
    short = "new: it knows of no earlier run on these data" if is_news else ""
    yield Fact("ledger", f"{components.settings.privacy.ledger}{new if account.is_first else ''}", short)
    before = f"{_before(account)}, by earlier runs on these data" if paid else ""
    is_known = before and not is_news and account.compute_spent_before() > 0
    yield Fact("before", before or "not relevant: this run spends nothing", None if is_known else "")
    if together := state_cumulative_loss(plan, paid):
        yield Fact("together", together)
    if over_runs := _over_runs(account):
        yield Fact("all runs", over_runs)
    if plan.secrecy is not None:
        from pcevolve.public.dp.attacks import protection, secret_budget

        guesses = protection(secret_budget(plan.secrecy.prior, plan.secrecy.bound))
        yield Fact("secrets", f"{describe_guesses(guesses)}; by this release alone")
    yield from _note_shots(components, plan)
    yield from (Fact(title, text) for title, text in components.notes)


def _note_shots(components: Components, plan: PublicPlan) -> Iterator[Fact]:
    """Yield a note for the owner's screen alone where classes do not hold what the plan says they do."""
    counts = sorted(components.data.count_units_in(label) for label in plan.labels)
    if not components.method.queries_data or plan.class_counts or counts[0] == counts[-1] == plan.data.shots:
        return
    held = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    yield Fact(
        "NOTE",
        f"your classes hold {held} privacy units each, and --shots says {plan.data.shots}: released means are divided "
        "by --shots, so they come out too large or too small. It is public: say about how many there are, if that may "
        "be known, or leave some out",
    )


def _over_runs(account: Account) -> str:
    """Say how often listed secrets can be guessed after this release and all others on the same data."""
    listed, borne = account.run.terms.secrets, account.borne_by_secrets()
    if listed is None or borne == ():
        return ""
    if borne is None:
        return "a run that states no epsilon used these data: nothing bounds what all runs together say of a secret"
    from pcevolve.public.dp.attacks import PRIORS, most_success_of

    curve = describe_guesses({prior: most_success_of([*borne, listed.as_event()], prior) for prior in PRIORS})
    return f"secrets: {curve}; runs with other secrets declared count in full"


def _before(account: Account) -> str:
    """Say what other runs spent on the worst-off unit, as far as this run's δ can state it."""
    spent = account.compute_spent_before()
    return (
        f"epsilon {format_loss(spent)}, for the most exposed unit"
        if isfinite(spent)
        else "more than any epsilon can say at this delta: see budget show"
    )
