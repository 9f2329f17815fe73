"""Lines for the owner of a run at a terminal: few before it and few after it; ``--verbose`` shows every fact."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pcevolve.errors import StoppedError, printable
from pcevolve.public.dialects import Advice
from pcevolve.public.figures import in_full
from pcevolve.public.modality import Kind, reword_for
from pcevolve.public.pages.rendering import spell_size
from pcevolve.public.pages.report.page import list_settings
from pcevolve.public.parts import Secrecy
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.protocol import Prepared
from pcevolve.public.publish.loss import ALARMS, PrivacyLoss, count_found_members, find_folder_events
from pcevolve.public.publish.promises import (
    NO_GUARANTEE,
    describe_library,
    list_marks,
    name_confinement,
    state_confinement,
)
from pcevolve.public.release import Receipt
from pcevolve.public.run.folder import RunFolder
from pcevolve.public.screen import Fact, Line
from pcevolve.public.selectors import find_method, list_paid_events
from pcevolve.public.transcript.layout import CLASSIFIER, RELEASE
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.usefulness import Assessment
from pcevolve.wire.approval import detail_run, forecast_costs
from pcevolve.wire.egress.allowance import Meter
from pcevolve_shared.bundled import draws

PUBLIC_IMAGES = "docs/public-images.md"
NAMED = 4
"""Classes that are told by name."""
SCORED = ("initial", "final", "random")
"""Of what a judge says in a summary, the sets that it was asked about."""


def introduce(plan: PublicPlan, prepared: Prepared, meter: Meter, advice: Advice | None) -> Iterator[Fact]:
    """Yield what somebody has to know before a run: what leaves, what it costs in privacy and money, what is public."""
    paid, method, reason = (
        list_paid_events(plan),
        find_method(plan.method.name).summary,
        prepared.method_reason,
    )
    unread = "" if paid else "; none is looked at"
    yield Fact(
        "private", f"{_number(len(plan.labels), 'class')}, {plan.data.shots} {plan.unit}s each{unread}"
    )
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
    costs = forecast_costs(plan, meter).items()
    said = "; ".join(f"{title.removeprefix('cost ')} {cost}" for title, cost in costs)
    yield Fact("cost", said, None if is_paid(meter) else "")
    yield from detail_run(plan, prepared.encoder_reason, advice)
    yield from (Fact("WARNING", mark) for mark in list_marks(plan))
    if advice is not None and advice.domains and not draws(plan.data.domain, advice.domains):
        yield Fact("WARNING", warn_of_domain(plan.data.domain, advice.domains))


def warn_of_domain(domain: str, domains: Sequence[str]) -> str:
    """Say that a model does not draw a domain, what it draws, and what else there is."""
    return (
        f"this model does not draw {domain!r}: it knows {printable(', '.join(domains))}, and draws one of these for "
        f"any other words. A model that knows your domain, or public images of it, may do: {PUBLIC_IMAGES}"
    )


def is_paid(meter: Meter) -> bool:
    """True if a run may cost money: its API is elsewhere, or has a price."""
    return not meter.nearby or meter.allowance.price is not None


def describe_plan(plan: PublicPlan, paid: Sequence[Event], greetings: int) -> Iterator[Line]:
    """Yield what leaves, what is promised of it, and what is public."""
    yield "sends", _say_sent(plan, greetings)
    yield "privacy", _price(plan, paid)
    said = (
        f"classes called {_names(plan.data.words)}, not their names"
        if plan.data.words
        else f"names {_names(plan.labels)}"
    )
    yield "public", f"{said}; words {plan.data.domain!r}; {plan.data.shots} {plan.unit}s in a class"


def describe_begun(root: Path) -> Iterator[Line]:
    """Yield all that is public of a run that has begun, finished or not.

    Raises:
        TranscriptError: No plan is on record.
    """
    record = RunReader.lenient(root)
    plan = record.require_plan()
    method = find_method(plan.method.name)
    planned = [event for each in method.plan_events(plan).values() for event in each]
    events = [*(plan.start.events if plan.start else ()), *planned]
    yield "method", f"{plan.method.name}: {reword_for(method.summary, plan.modality.kind)}"
    greetings = sum(each.call is None for each in record.traffic.attempts)
    yield from describe_plan(plan, [event for event in events if not event.free], greetings)
    for label in plan.labels:
        yield f"prompts, {label}", "; ".join(plan.first_prompts(label))
    for name, value in list_settings(plan):
        yield name[:1].lower() + name[1:], str(value)


def _number(count: int, word: str) -> str:
    plural = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{count:,} {word if count == 1 else plural}"


def _names(labels: Sequence[str]) -> str:
    shown = ", ".join(f"{label!r}" if label else "nothing" for label in labels[:NAMED])
    return shown + (f" and {len(labels) - NAMED} more" if len(labels) > NAMED else "")


def _say_sent(plan: PublicPlan, greetings: int) -> str:
    kind, calls = plan.modality.kind, plan.calls.values()
    asked = (
        f"{_number(greetings + len(calls), 'request')} for {_number(sum(call.count for call in calls), kind)}"
    )
    goes_back = plan.method.iterations and not plan.varies_prompts
    made = "had sent before" if plan.library else "itself had made"
    back = f", and {kind}s that the server {made}" if goes_back else ""
    back = back if plan.start is None else f", and the {kind}s of the release that is varied"
    return f"{asked}: prompts{back}. No private {kind}."


def _price(plan: PublicPlan, paid: Sequence[Event]) -> str:
    """Say what a run promises, and what that means."""
    if not plan.secure:
        return NO_GUARANTEE
    if not paid:
        return "nothing is spent"
    change = "exchanged for another" if plan.privacy.relation == "replace-one" else "more or less"
    loss, found = PrivacyLoss.of(plan, paid).say(), count_found_members(find_folder_events(plan, paid))
    promised = f"{loss} at delta {in_full(plan.privacy.delta)}, for one {plan.unit} {change}"
    return f"{promised}: who wrongly accuses {ALARMS} of 100 outsiders finds at most {found} of 100 members"


def report_early_stop(folder: RunFolder) -> StoppedError:
    """Return the error for a run that was stopped before it sent a prompt, or before it went on."""
    if folder.has_plan():
        return StoppedError("stopped: no privacy budget was spent meanwhile", _say_how_to_go_on(folder.root))
    return StoppedError(
        "stopped: nothing was spent, and no prompt was sent", "to begin again: the same command"
    )


def report_stop(root: Path, plan: PublicPlan, receipts: Sequence[Receipt]) -> StoppedError:
    """Return the error for a run that was stopped on its way, with what it has spent."""
    told = f"{_say_spent(plan, receipts)}, on {len(receipts)} of {len(plan.releases)} releases"
    return StoppedError(f"stopped: {told}; all of it is on record", _say_how_to_go_on(root))


def say_spent(plan: PublicPlan, receipts: Sequence[Receipt]) -> str:
    """Say what a run has spent when it stops by itself, in a sentence without its full stop."""
    if all(event.free for receipt in receipts for event in receipt.events):
        return "no privacy budget was spent"
    return f"nothing more was spent: {_say_spent(plan, receipts)}"


def _say_spent(plan: PublicPlan, receipts: Sequence[Receipt]) -> str:
    """Say what was spent, or what the run protects where no ε says it."""
    events = [event for receipt in receipts for event in receipt.events]
    budget = float(plan.budget.epsilon)
    spent = PrivacyLoss.of(plan, events).say(budget) if plan.secure else f"INSECURE, no of epsilon {budget:g}"
    return f"{spent} is spent"


def _say_how_to_go_on(root: Path) -> str:
    return f"to go on, without paying again for what is paid: {RunFolder(root).resume_command}"


def summarise(summary: Mapping[str, Any]) -> Iterator[Line]:
    """Yield what came out, what left, what was spent, whether it is useful, and what to do next."""
    kind: Kind = summary.get("modality", "image")
    for mark in summary["marks"]:
        yield "WARNING", mark
    made = f"{_number(summary['images_released'], kind)}, {_number(summary['classes'], 'class')}"
    yield "dataset", f"{summary['dataset']} ({made})"
    yield from describe_traffic(summary)
    if "listed_secrets" in summary:
        yield "secrets", Secrecy.model_validate(summary["listed_secrets"]).words
    yield from describe_accuracies(summary)
    assessed = _read_assessment(summary)
    if (measured := summary.get("measured")) is not None:
        yield "verdict", f"{measured['word'].upper()}, measured: {measured['sentence']}"
        if measured["advice"]:
            yield "", measured["advice"]
    elif assessed is not None:
        judge = summary["usefulness"]["by"]
        yield (
            "verdict",
            f"{assessed.estimate(kind).upper()} by {judge}, which chose: {assessed.sentence(kind)}",
        )
        yield "", f"{assessed.advice(kind)}"
    else:
        yield (
            "verdict",
            f"not known: {summary['method']} releases nothing that could tell how useful the dataset is",
        )
    yield from _next(summary)


def describe_traffic(summary: Mapping[str, Any]) -> Iterator[Line]:
    """Yield how much was sent, and at which price in privacy."""
    bill = f"; {summary['bill']}" if "at no charge" not in summary.get("bill", "at no charge") else ""
    back = f"{spell_size(summary['bytes_received'])} came back"
    yield (
        "sent",
        f"{_number(summary['requests'], 'request')}, {spell_size(summary['bytes_sent'])}; {back}{bill}",
    )
    yield "privacy", _say_loss(summary)


def describe_accuracies(summary: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the accuracy of each set by a judge that did not vote; by one that did, if there is no other."""
    rows = [row for row in summary.get("accuracy", ()) if not row["voted"]] or [*summary.get("accuracy", ())]
    for row in rows[:1]:
        said = [f"{words} {100 * row[name]['mean']:.0f} %" for name, words in SETS.items() if name in row]
        yield "accuracy", ", ".join(said)
        voted = "; it saw the candidates when the run selected, which flatters" if row["voted"] else ""
        yield "", f"(by {row['judge']} on data kept aside; chance is {100 / summary['classes']:.0f} %{voted})"


SETS = {
    "initial": "words alone",
    "random": "random choice",
    "final": "this dataset",
    "shots": "private shots",
}
"""What accuracies are of, in the order in which they are told."""


def _say_loss(summary: Mapping[str, Any]) -> str:
    if summary["epsilon_spent"] is None:
        return str(summary.get("promise", "no guarantee: see the warning"))
    loss = PrivacyLoss.read(summary).say(summary["epsilon_budget"])
    return f"{loss} was spent (delta {in_full(summary['delta'])}, {summary['relation']})"


def _next(summary: Mapping[str, Any]) -> Iterator[Line]:
    """Yield commands that can be typed."""
    run = Path(summary["dataset"]).parent
    name = shlex.quote(str(run))
    yield "next", f"open {shlex.quote(str(summary['report']))}"
    if "use_page" in summary:
        yield "", f"open {shlex.quote(str(summary['use_page']))}   (is it useful? for you alone)"
    yield "", f"pcevolve audit {name}   (what left, and why)"
    if not summary.get("accuracy"):
        yield "", f"pcevolve evaluate {name} --test FOLDER   (on data of your own)"
    if (run / RELEASE / CLASSIFIER).is_file():
        yield "", f"pcevolve classify {name} FILES   (by the class means that were released)"


def _read_assessment(summary: Mapping[str, Any]) -> Assessment | None:
    found = summary.get("usefulness")
    fields = Assessment.model_fields
    return None if found is None else Assessment.model_validate({name: found[name] for name in fields})


def detail_result(summary: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the figures of a finished run that ``summarise`` leaves out, every judge's among them."""
    kind: Kind = summary.get("modality", "image")
    yield "rounds", f"{summary['iterations']}, by method {summary['method']}"
    if (assessed := _read_assessment(summary)) is not None:
        judge = summary["usefulness"]["by"]
        yield "useful?", f"{assessed.estimate(kind).upper()} by {judge}, which chose: {assessed.reason(kind)}"
    yield "bytes sent", f"{summary['bytes_sent']:,}; received {summary['bytes_received']:,}"
    for row in summary.get("accuracy", ()):
        yield f"accuracy, {row['judge']}{' (voted)' if row['voted'] else ''}", _say_accuracy(row)
    if "wall_seconds" in summary:
        yield "seconds", f"{summary['wall_seconds']}, of this command"


def _say_accuracy(row: Mapping[str, Any]) -> str:
    """Say how one judge scores each set: the prompt's images, the dataset, and in a demonstration its control."""
    sets = [name for name in SCORED if name in row]
    said = ", ".join(f"{name} {row[name]['mean']:.1%} ± {row[name]['sem']:.1%}" for name in sets)
    flattered = "; it saw the candidates when the run selected, which flatters" if row["voted"] else ""
    return f"{said} (s.e. over {len(row['final']['seeds'])} seeds of the head{flattered})"
