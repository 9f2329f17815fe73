"""Facts for the owner of a run at a terminal; ``--verbose`` shows all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pcevolve.errors import ProviderReplyError, StoppedError, printable
from pcevolve.public.figures import in_full, spell_count
from pcevolve.public.modality import Advice
from pcevolve.public.pages.report.page import list_settings
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.protocol import Prepared
from pcevolve.public.publish.loss import PrivacyLoss, find_folder_events, state_odds
from pcevolve.public.publish.promises import (
    NO_GUARANTEE,
    describe_library,
    list_assumptions,
    list_marks,
    list_unit_sizes,
    name_confinement,
    state_confinement,
)
from pcevolve.public.release import Receipt
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.screen import Fact, Line
from pcevolve.public.selectors import find_method, list_paid_events
from pcevolve.public.selectors.method import first_selection, scope_of
from pcevolve.public.selectors.rounds import uniform_lift
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.records import Answered
from pcevolve.wire.egress.allowance import Meter
from pcevolve.wire.providers.dialect import Dialect
from pcevolve_shared.bundled import draws

PUBLIC_IMAGES = "docs/public-images.md"
NAMED = 4
"""Largest number of classes that are listed by name."""


def introduce(plan: PublicPlan, prepared: Prepared, meter: Meter, advice: Advice | None) -> Iterator[Fact]:
    """Yield the facts to know before a run: what is sent, the run's cost in privacy and money, what becomes public."""
    paid, method, reason = (
        list_paid_events(plan),
        find_method(plan.method.name).summary,
        prepared.method_reason,
    )
    unread = "" if paid else "; none of them is used"
    yield Fact(
        "private", f"{spell_count(len(plan.labels), 'class')}, {plan.data.shots} {plan.unit}s each{unread}"
    )
    if plan.clinics is not None:
        yield Fact("owners", ", ".join(each.name for each in plan.clinics.owners))
    yield Fact("server", f"{plan.provider.model} at {plan.provider.api}")
    yield (
        Fact("method", f"{method} (auto: {reason})", f"{method} (chosen by auto)")
        if reason
        else Fact("method", method)
    )
    yield from (Fact(*line) for line in describe_plan(plan, paid, meter.greetings))
    if plan.library is not None:
        yield Fact("images", describe_library(plan.library))
    yield Fact("confinement", state_confinement(plan), name_confinement(plan))
    yield Fact("cost", spell_costs(plan, meter), None if is_paid(meter) else "")
    yield from _detail_run(plan, prepared.encoder_reason, advice)
    yield from (Fact("WARNING", mark) for mark in list_marks(plan))
    if advice is not None and advice.domains and not draws(plan.data.domain, advice.domains):
        yield Fact("WARNING", warn_of_domain(plan.data.domain, advice.domains))


def _detail_run(plan: PublicPlan, encoder_reason: str, advice: Advice | None) -> Iterator[Fact]:
    """Yield the facts that ``--verbose`` adds: reasons for choices, and settings of the requests."""
    method, kind = find_method(plan.method.name), plan.modality.nouns.one
    why = f" (auto: {encoder_reason})" if encoder_reason else ""
    if plan.encoder.name:
        yield Fact("encoder", plan.encoder.name + why, "")
    rounds = f"{plan.method.iterations} round{'' if plan.method.iterations == 1 else 's'} of variation"
    by_prompt = f" of the prompts: no {kind} is sent back" if plan.varies_prompts else ""
    planned = method.plan_events(plan).values()
    releases = sum(any(not event.free for event in events) for events in planned)
    yield Fact("releases", f"{releases} of private data; {rounds}{by_prompt}", "")
    first, luck = first_selection(method.plan_events(plan)), uniform_lift((), scope_of(plan))
    lift = (method.lift if first else uniform_lift)(first, scope_of(plan))
    many = plan.modality.nouns.many
    best = (
        f"a selected {kind} is among the best tenth with a probability of at most about {lift:.1%} "
        f"({luck:.1%} without any private data). This figure counts only the noise. The preview shows "
        f"whether the provider can {plan.modality.verb} your {many}"
    )
    yield Fact("selection lift", best, "")
    yield Fact("assumed public", "; ".join(list_assumptions(plan)), "")
    yield Fact("request settings", _describe_settings(plan, advice), "")


def _describe_settings(plan: PublicPlan, advice: Advice | None) -> str:
    """Describe the settings of images, or length and blanks of texts, and the provider's recommendations."""
    degrees = (
        f"{plan.method.strengths[0]:g} to {plan.method.strengths[-1]:g}" if plan.method.strengths else ""
    )
    no_steps = "; a library uses the guidance, and ignores the steps" if plan.library else ""
    return plan.modality.describe_asking(degrees, str(advice) if advice else "") + no_steps


def forecast_costs(plan: PublicPlan, meter: Meter) -> dict[str, str]:
    """Return, by title, the cost of the first images and of the complete run, including what is already sent."""
    look, rest = meter.forecast(plan.opening), meter.forecast(plan.calls.values())
    unknown = "" if rest.cost is not None or meter.nearby else " (set provider.price to know it beforehand)"
    whole = "cost of the rest" if meter.images else "cost of the whole run"
    return {
        **({"cost so far": meter.bill()} if meter.images else {}),
        **(
            {"cost of the preview": f"{meter.spell_price(look.images, look.cost)}{unknown}"}
            if look.images
            else {}
        ),
        **({whole: f"{meter.spell_price(rest.images, rest.cost)}{unknown}"} if rest.images else {}),
    }


def spell_costs(plan: PublicPlan, meter: Meter) -> str:
    """Describe the cost of the first images and of the complete run in one line."""
    costs = forecast_costs(plan, meter).items()
    return "; ".join(f"{title.removeprefix('cost ').removeprefix('of ')}: {cost}" for title, cost in costs)


def warn_of_domain(domain: str, domains: Sequence[str]) -> str:
    """State that a model does not draw a domain, which domains it draws, and where to find other models."""
    return (
        f"this model cannot draw {domain!r}. It can draw only {printable(', '.join(domains))}, and draws "
        "one of these for any other words. Use a model that knows your domain, or public images of your "
        f"domain: {PUBLIC_IMAGES}"
    )


def is_paid(meter: Meter) -> bool:
    """True if a run may cost money, because its API is remote or has a price."""
    return not meter.nearby or meter.allowance.price is not None


def describe_plan(plan: PublicPlan, paid: Sequence[Event], greetings: int) -> Iterator[Line]:
    """Yield what is sent, under which guarantee, and what becomes public."""
    yield "sends", _say_sent(plan, greetings)
    yield "privacy", _price(plan, paid)
    text = (
        f"words {_names(plan.data.words)} in place of the class names"
        if plan.data.words
        else f"class names {_names(plan.labels)}"
    )
    sizes = "".join(f"; {each}" for each in list_unit_sizes(plan))
    yield "public", f"{text}; domain {plan.data.domain!r}; {plan.data.shots} {plan.unit}s per class{sizes}"


def describe_begun(root: Path) -> Iterator[Line]:
    """Yield all public facts of a run that has begun, finished or not.

    Raises:
        TranscriptError: There is no plan on record.
    """
    record = RunReader.lenient(root)
    plan = record.require_plan()
    method = find_method(plan.method.name)
    planned = [event for each in method.plan_events(plan).values() for event in each]
    events = [*(plan.start.events if plan.start else ()), *planned]
    yield "method", f"{plan.method.name}: {method.summary}"
    greetings = sum(each.call is None for each in record.traffic.attempts)
    yield from describe_plan(plan, [event for event in events if not event.free], greetings)
    for label in plan.labels:
        yield f"prompts, {label}", "; ".join(plan.first_prompts(label))
    for name, value in list_settings(plan):
        yield name[:1].lower() + name[1:], str(value)


def _names(labels: Sequence[str]) -> str:
    shown = ", ".join(f"{label!r}" if label else "nothing" for label in labels[:NAMED])
    return shown + (f" and {len(labels) - NAMED} more" if len(labels) > NAMED else "")


def _say_sent(plan: PublicPlan, greetings: int) -> str:
    nouns, calls = plan.modality.nouns, plan.calls.values()
    images = nouns.count(sum(call.count for call in calls))
    asked = f"{spell_count(greetings + len(calls), 'request')} for {images}"
    goes_back = plan.method.iterations and not plan.varies_prompts
    made = "had sent before" if plan.library else "itself had made"
    back = f" and {nouns.many} that the server {made}" if goes_back else ""
    back = back if plan.start is None else f" and the {nouns.many} of the release that is varied"
    return f"{asked}. They contain prompts{back}, but no private {nouns.one}."


def _price(plan: PublicPlan, paid: Sequence[Event]) -> str:
    """State a run's guarantee and its meaning."""
    if not plan.secure:
        return NO_GUARANTEE
    if not paid:
        return "nothing is spent"
    change = "exchanged for another" if plan.privacy.relation == "replace-one" else "added or removed"
    loss, odds = PrivacyLoss.of(plan, paid).say(), state_odds(find_folder_events(plan, paid))
    return f"{loss} at delta {in_full(plan.privacy.delta)}, if one {plan.unit} is {change}: {odds}"


def report_early_stop(folder: RunFolder) -> StoppedError:
    """Return the error for a run that was stopped before its first prompt, or before it was resumed."""
    if folder.has_plan():
        return StoppedError("stopped: this command spent no privacy budget", _say_how_to_go_on(folder.root))
    return StoppedError(
        "stopped: nothing was spent and no prompt was sent", "to begin again, give the same command"
    )


def report_stop(root: Path, plan: PublicPlan, receipts: Sequence[Receipt]) -> StoppedError:
    """Return the error for a run that was stopped midway, with the budget spent so far."""
    state = f"after {len(receipts)} of {len(plan.releases)} releases: {_say_spent(plan, receipts)}"
    return StoppedError(f"stopped {state}; everything is on record", _say_how_to_go_on(root))


def say_spent(plan: PublicPlan, receipts: Sequence[Receipt]) -> str:
    """State what a run has spent, as a sentence without its full stop."""
    if all(event.free for receipt in receipts for event in receipt.events):
        return "no privacy budget was spent"
    return f"no more was spent: {_say_spent(plan, receipts)}"


def _say_spent(plan: PublicPlan, receipts: Sequence[Receipt]) -> str:
    """State the budget spent; for an INSECURE run, state that no ε is counted."""
    events = [event for receipt in receipts for event in receipt.events]
    if not plan.secure:
        return "an INSECURE run has no epsilon"
    return f"{PrivacyLoss.of(plan, events).say(float(plan.budget.epsilon))} is spent"


def _say_how_to_go_on(root: Path) -> str:
    return f"to continue, without paying twice for anything: {RunFolder(root).resume_command}"


def note_answers(plan: PublicPlan, record: RunReader, api_dialect: Dialect) -> Iterator[str]:
    """Yield the API's remarks on its first answers that the answers' outputs do not show."""
    calls = {call.slot: call for call in plan.opening if call.slot in record.outputs}
    answers = [
        entry.record
        for entry in record.entries
        if isinstance(entry.record, Answered) and entry.record.slot in calls
    ]
    found: Counter[str] = Counter()
    for each in answers:
        body = record.bodies.get(each.body)
        if not each.succeeded:
            if (fault := api_dialect.fault(each.status, body)).reason == "content":
                found[f"refusals by its moderation ({fault.message})"] += 1
            continue
        with suppress(ProviderReplyError):  # the call was repeated
            found.update(api_dialect.remarks(plan.prompt_of(calls[each.slot]), body))
    yield from (
        f"{count} of the API's first {len(calls)} answers: {remark}" for remark, count in found.items()
    )
