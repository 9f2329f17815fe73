"""One run from checked options to a published dataset; with components, where everything is put together."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from pcevolve.config.config import RunConfig
from pcevolve.dp.accountants import epsilon
from pcevolve.durable import write_durably
from pcevolve.egress.allowance import Allowance, Meter
from pcevolve.egress.exchange import Rewriter
from pcevolve.egress.gate import Gate, PacedJudge
from pcevolve.egress.pace import Pace
from pcevolve.egress.retry import Patience
from pcevolve.errors import StoppedError
from pcevolve.evolution import Evolved, Generator, Pool, Population, evolve
from pcevolve.ledger.ledger import Account
from pcevolve.pages.preview import write_preview
from pcevolve.pages.report import write_report
from pcevolve.privacy import Event
from pcevolve.providers import dialect
from pcevolve.providers.dialect import Advice
from pcevolve.public.figures import format_loss
from pcevolve.public.plan import PublicPlan
from pcevolve.public.usefulness import Assessment
from pcevolve.publish import Release, publish, write_summary
from pcevolve.publish.dataset import encode
from pcevolve.publish.exports import export_run
from pcevolve.screen import lay_out
from pcevolve.selectors.choosing import Chooser, EmbeddingGenerator
from pcevolve.selectors.usefulness import assess
from pcevolve.session import rewriting
from pcevolve.session.approval import approve, costs_ahead, disclosure, require_liking
from pcevolve.session.components import Components
from pcevolve.session.console import before, is_paid
from pcevolve.session.folder import RunFolder
from pcevolve.session.kind import of_kind
from pcevolve.session.planning import FALLBACK_SIZE, as_recorded, opened_ledger, prepared, resolved_plan
from pcevolve.session.preflight import CheckedRun
from pcevolve.session.progress import (
    Audience,
    RunProgress,
    facts,
    padding,
    padding_kept,
    told_of,
)
from pcevolve.transcript import RunReader, Transcript
from pcevolve.usability import Usability


def show_opening(
    gate: Gate, meter: Meter, plan: PublicPlan, folder: RunFolder, console: Console, usability: Usability
) -> None:
    """Ask for the plan's first images, unless they are on record, and show them; nothing private has a part in it.

    Args:
        gate: Has begun with the plan.
        meter: Knows what that cost.
        plan: Says which images come first.
        folder: Gets the page.
        console: Shows pictures, if it is a terminal, and says where the page is.
        usability: Says whether the images leave something to choose.

    Raises:
        ProviderError: No usable answer.
        UnusableError: Too few images can be used, or all are the same.
    """
    kind = plan.modality.kind
    shown: Population = dict.fromkeys(plan.labels, ())
    with console.status(f"asking the provider for a few {kind}s of each class") as said:
        for call in plan.opening:
            said.update(f"asking the provider for a few {kind}s of each class: {call.label}")
            made = gate.create(call)
            shown = {**shown, call.label: shown[call.label] + (made if call.brings else ())}
    record = RunReader.strict(folder.root)
    page = write_preview(record)
    of_kind(kind).show_first(record, plan, console)
    paid = any(not event.free for receipt in record.receipts for event in receipt.events)
    spent = "so far" if paid else "no privacy budget was spent"
    bill = f"; {meter.bill()}" if is_paid(meter) else ""
    console.print(lay_out([("preview", f"{page}    drawn from words alone; {spent}{bill}")]))
    opened = Pool(shown)
    for note in (*usability.notes(opened), *rewriting.notes(plan, record)):
        console.print(f"WARNING: {note}")
    usability.require(opened, f"{spent}; {meter.bill()}")


def stopped_early(folder: RunFolder) -> StoppedError:
    """About a run that was stopped before it sent a prompt, or before it went on."""
    if folder.has_plan():
        return StoppedError("stopped: no privacy budget was spent meanwhile", _go_on(folder.root))
    return StoppedError(
        "stopped: nothing was spent, and no prompt was sent", "to begin again: the same command"
    )


def stopped_midway(root: Path, plan: PublicPlan, account: Account) -> StoppedError:
    """About a run that was stopped on its way; what it has spent is asked of the ledger."""
    receipts = account.receipts()
    events = [event for receipt in receipts for event in receipt.events]
    return StoppedError(
        f"stopped: {_spent(plan, events)}, on {len(receipts)} of {len(plan.releases)} releases; all of it is on record",
        _go_on(root),
    )


def spent_so_far(plan: PublicPlan, account: Account) -> str:
    """Say what a run has spent when it stops by itself, in a sentence without its full stop."""
    events = [event for receipt in account.receipts() for event in receipt.events]
    if all(event.free for event in events):
        return "no privacy budget was spent"
    return f"nothing more was spent: {_spent(plan, events)}"


def _spent(plan: PublicPlan, events: Sequence[Event]) -> str:
    """Say what was spent, or what the run protects where no ε says it."""
    spent = format_loss(epsilon(events, plan.delta)) if plan.secure else "INSECURE, no"
    return f"{spent} of epsilon {float(plan.budget.epsilon):g} is spent"


def _go_on(root: Path) -> str:
    return f"to go on, without paying again for what is paid: pcevolve run --resume {root}"


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    folder: RunFolder
    components: Components
    plan: PublicPlan
    evolved: Evolved
    summary: dict[str, Any]


@dataclass(frozen=True)
class _Session:
    """A run under way."""

    components: Components
    folder: RunFolder
    plan: PublicPlan
    gate: Gate
    transcript: Transcript
    chooser: Chooser | None
    usability: Usability
    account: Account
    meter: Meter
    pace: Pace
    rewriter: Rewriter | None = None

    def bill(self) -> str:
        """Say what both providers were asked for so far, and what that cost."""
        return self.meter.bill() + (
            "" if self.rewriter is None else f"; {self.rewriter.meter.bill()} (rewriter)"
        )

    @property
    def generator(self) -> Generator:
        """The gate, whose answers are embedded as they come where something compares them."""
        if self.chooser is None:
            return self.gate
        return EmbeddingGenerator(self.gate, self.chooser, self.gate.has_receipt)

    def require_usable(self, pool: Pool, console: Console, *, is_dataset: bool = False) -> None:
        """Refuse to go on where too few of the newest candidates can be used; tell the owner what is left out.

        Args:
            pool: What a release would choose from, or what would be the dataset.
            console: Where the owner reads it.
            is_dataset: Whether everything is paid for.

        Raises:
            UnusableError: Nothing more is spent.
        """
        spent = f"{spent_so_far(self.plan, self.account)}; {self.bill()}"
        self.usability.require(pool, spent, is_dataset=is_dataset)
        for note in self.usability.notes(pool):
            console.print(f"WARNING: {note}")


def execute(run: CheckedRun, audience: Audience | None = None) -> Outcome:
    """Carry out a run, or the rest of one.

    Args:
        run: What nothing speaks against.
        audience: Who is told; the terminal if None.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and the run can be resumed from there.
    """
    started = time.monotonic()
    try:
        return _executed(run, audience or Audience(), started)
    except KeyboardInterrupt:
        raise stopped_early(run.folder) from None


def _executed(run: CheckedRun, audience: Audience, started: float) -> Outcome:
    components = _components(run, audience.console)
    with run.folder.claimed(run.resume), _session(components, run.folder, audience) as session:
        try:
            show_opening(
                session.gate, session.meter, session.plan, run.folder, audience.console, session.usability
            )
            if not run.resume:
                require_liking(components, run.folder)
            evolved = _evolved(session, audience)
            summary = _finished(session, evolved, started)
        except KeyboardInterrupt:
            raise stopped_midway(run.folder.root, session.plan, session.account) from None
    return Outcome(run.folder, components, session.plan, evolved, summary)


def _components(run: CheckedRun, console: Console) -> Components:
    with told_of(console, f"reading private {dialect(run.settings.provider.dialect).makes}s") as told:
        return Components.of(run, told)


def preview(run: CheckedRun, audience: Audience | None = None) -> Path:
    """Begin a run, show the provider's first images, and leave it there: no privacy budget is spent.

    Args:
        run: What nothing speaks against.
        audience: Who is told; the terminal if None.

    Returns:
        The page that shows them.

    Raises:
        ClientError: Why it ended.
    """
    audience = audience or Audience()
    console = audience.console
    try:
        with (
            run.folder.claimed(run.resume),
            _session(_components(run, console), run.folder, audience, only_look=True) as session,
        ):
            show_opening(session.gate, session.meter, session.plan, run.folder, console, session.usability)
    except KeyboardInterrupt:
        raise stopped_early(run.folder) from None
    return run.folder.preview


@contextmanager
def _session(
    components: Components, folder: RunFolder, audience: Audience, only_look: bool = False
) -> Iterator[_Session]:
    """Make sure that the budget allows all of the plan, greet the API, and fix the plan.

    What private work can be done before the greeting is; the rest, which waits for the plan, takes whole ticks.
    """
    settings, console = components.settings, audience.console
    with (
        components.engine.running(folder.scratch),  # first, so that it ends when the connection is closed
        closing(Transcript(folder.transcript)) as transcript,
        closing(opened_ledger(settings, begun=transcript.plan() is not None)) as ledger,
        closing(components.transport()) as transport,
        rewriting.reached(settings, components.rewriter, transcript) as rewriter,
    ):
        pace = Pace(settings.privacy.pad_selection, settings.privacy.pace)
        meter = Meter(allowance(settings), components.dialect, transcript, components.address.is_nearby)
        wait = patience(settings, console)
        gate = Gate(
            transcript, components.dialect, components.address, transport, wait, pace, meter, rewriter
        )
        with told_of(console, f"embedding private {components.dialect.makes}s") as embedding:
            ready = prepared(components, ledger, transcript, embedding)
        account, begun = ready.account, transcript.plan()
        plan, advice = _greeted(components, gate, ready.draft, begun)
        if audience.verbose:
            told = {
                **disclosure(components, plan, ready.notes, advice),
                **costs_ahead(plan, meter),
                "time": padding(pace.tick),
            }
            console.print(facts("Before the run goes on" if begun else "Before anything is spent", told))
        else:
            ahead = before(components, plan, ready.notes, meter, pace.tick)
            console.print(lay_out([*(RESUMED if begun else ()), *ahead]))
        calls = plan.opening if only_look else plan.calls.values()
        approve(components, plan, calls, gate, meter, begun is not None, rewriter)
        if begun is None:
            plan = _settle_batch(components, gate, meter, plan, console)
        settings.save(folder.config)
        with gate.private_section():
            account.enrol()
            gate.begin(plan, account.committed, account.measured)
        chooser = components.chooser(plan, transcript)
        usability = Usability(plan, transcript.bodies.file)
        yield _Session(
            components, folder, plan, gate, transcript, chooser, usability, account, meter, pace, rewriter
        )


PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy")
"""Variables by which other programs are told of a proxy."""
RESUMED = (("resumed", "it goes on where it was; what is paid for is not paid again"),)


def _greeted(
    components: Components, gate: Gate, draft: PublicPlan, begun: PublicPlan | None
) -> tuple[PublicPlan, Advice | None]:
    """Greet the API, refuse what its model cannot do, and settle the plan by what it says; with what it recommends."""
    spoken, model, greeting = components.dialect, components.settings.provider.model, gate.hello(draft.run_id)
    if not components.address.greets:
        plan = resolved_plan(components, draft.run_id, FALLBACK_SIZE, draft.earlier, None, None)
        return as_recorded(begun, plan, components.settings), None
    size = spoken.native_size(model, greeting) or FALLBACK_SIZE
    if (adapter := components.settings.provider.adapter) is not None:
        spoken.require_adapter(model, adapter, greeting)
    if components.settings.provider.negative_prompt:
        spoken.require_negative_prompts(model, greeting)
    library, advice = spoken.library(model, greeting), spoken.advice(model, greeting)
    graded = spoken.takes_strength(model, greeting)
    plan = resolved_plan(components, draft.run_id, size, draft.earlier, library, advice, graded)
    return as_recorded(begun, plan, components.settings), advice


def _settle_batch(
    components: Components, gate: Gate, meter: Meter, plan: PublicPlan, console: Console
) -> PublicPlan:
    """Ask for one text a request where the API takes no number of them, which only asking for two at once tells.

    Raises:
        UsageError: That many requests are more than the owner allows.
    """
    is_known = components.settings.provider.fields is not None or plan.in_process
    if is_known or plan.modality.kind != "text" or all(call.count == 1 for call in plan.calls.values()):
        return plan
    if gate.takes_several(plan.model):
        return plan
    modality = {**plan.texts.model_dump(), "fields": (*plan.texts.fields, "n=")}
    alone = PublicPlan.model_validate({**plan.model_dump(), "batch": 1, "modality": modality})
    meter.check(meter.forecast(alone.calls.values()), None)
    console.print(
        f"One text a request, {len(alone.calls)} in all: the API did not write two when it was asked to."
    )
    return alone


def patience(settings: RunConfig, console: Console) -> Patience:
    """Return how long to go on asking an API that does not answer, and what to tell the owner meanwhile."""
    told = Patience(
        settings.provider.patience,
        settings.provider.first_contact,
        lambda news: console.print(news.told),
    )
    ignored = next((name for name in PROXIES if name in os.environ), None)
    if settings.provider.proxy is not None or ignored is None:
        return told
    return replace(
        told, advice=f"{told.advice}; {ignored} is not used: --set provider.proxy=URL names a proxy"
    )


def allowance(settings: RunConfig) -> Allowance:
    """Return the requests and the cost that the owner allows."""
    return Allowance(settings.provider.max_requests, settings.provider.max_cost, settings.provider.price)


def _evolved(session: _Session, audience: Audience) -> Evolved:
    components, plan = session.components, session.plan
    progress = RunProgress(plan, components.method.name, audience, session.bill, session.meter.recorded(plan))
    require_usable = partial(session.require_usable, console=audience.console)
    chosen = components.judge(plan, session.account, session.chooser)
    judge = PacedJudge(chosen, session.gate, require_usable)
    try:
        with progress.shown():
            evolved = evolve(plan, session.generator, judge, progress)
        if not plan.selects:  # what a release selects from was looked at before
            require_usable(Pool(evolved.populations[-1]), is_dataset=True)
        return evolved
    finally:
        kept = padding_kept(session.pace.longest, session.pace.tick)
        if audience.verbose or kept.startswith("WARNING"):
            audience.console.print(kept)


def _finished(session: _Session, evolved: Evolved, started: float) -> dict[str, Any]:
    """Close the record and write what the run was for."""
    folder = session.folder
    session.gate.finish(_assessed(session, evolved))
    record = RunReader.strict(folder.root)
    if not folder.finished:
        publish(folder.release, Release.of(record, evolved.dataset), session.transcript.bodies.file)
    write_report(record)
    result = {
        **write_summary(record),
        "cost": None if (cost := session.meter.known_cost) is None else round(cost, 6),
        "bill": session.bill(),
        "wall_seconds": round(time.monotonic() - started, 1),
        "dataset": str(folder.release),
        "report": str(folder.report),
    }
    export_run(folder.root, session.components.settings.output.formats)
    save_result(folder, result)
    folder.forget_times()
    return result


def _assessed(session: _Session, evolved: Evolved) -> Assessment | None:
    """Assess the dataset's use, from what was paid for anyway; None where that says nothing."""
    if session.chooser is None:
        return None
    stored = session.transcript.bodies.file
    return assess(session.chooser, evolved.receipts, evolved.pools.__getitem__, evolved.dataset, stored)


def save_result(folder: RunFolder, result: dict[str, Any]) -> None:
    """Keep what the owner was told in the end, where nobody else reads it."""
    write_durably(folder.result, encode(result), 0o600)
