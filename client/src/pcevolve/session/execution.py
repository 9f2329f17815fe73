"""One run from checked options to a published dataset; with components, where everything is put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from pcevolve.config.config import RunConfig
from pcevolve.durable import write_private
from pcevolve.egress.gate import Gate, PacedJudge
from pcevolve.evolution import Evolved, Generator, Judge, Pool, Population, evolve, make_pool, pool_last
from pcevolve.ledger.ledger import Account
from pcevolve.pages.live import write_preview
from pcevolve.pages.report.page import write_report
from pcevolve.providers import dialect
from pcevolve.providers.dialect import Advice, Dialect
from pcevolve.public.plan import PublicPlan
from pcevolve.public.usefulness import Assessment
from pcevolve.publish.dataset import export_run, publish, write_summary
from pcevolve.publish.release import Release
from pcevolve.screen import lay_out
from pcevolve.selectors.choosing import Chooser, EmbeddingGenerator
from pcevolve.selectors.usefulness import assess
from pcevolve.session.approval import Fact, approve, list_doubts, require_liking
from pcevolve.session.components import Components
from pcevolve.session.console import introduce, is_paid, report_early_stop, report_stop, say_spent
from pcevolve.session.continuity import open_record
from pcevolve.session.dashboard import keep_live_page
from pcevolve.session.folder import RunFolder
from pcevolve.session.kind import load_kind
from pcevolve.session.owner import OwnerFolder
from pcevolve.session.planning import (
    FALLBACK_SIZE,
    choose_at_once,
    keep_recorded,
    open_ledger,
    prepare,
    resolve_plan,
)
from pcevolve.session.preflight import CheckedRun
from pcevolve.session.progress import (
    Audience,
    RunProgress,
    judge_padding,
    show_work,
)
from pcevolve.session.reaching import Connection, note_answers
from pcevolve.transcript import RunReader, Transcript
from pcevolve.usability import Usability

RESUMED = (("resumed", "it goes on where it was; what is paid for is not paid again"),)


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    folder: RunFolder
    components: Components
    plan: PublicPlan
    evolved: Evolved
    summary: dict[str, Any]

    @property
    def owner(self) -> OwnerFolder:
        """What of it is for its owner alone."""
        return OwnerFolder.of(self.folder.root, self.components.settings.privacy.ledger)


def execute(run: CheckedRun, audience: Audience | None = None, open_page: bool = False) -> Outcome:
    """Carry out a run, or the rest of one; ``open_page`` opens the page that shows it meanwhile.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and the run can be resumed from there.
    """
    started, audience = time.monotonic(), audience or Audience()
    with _open_session(run, audience) as (components, account, session):
        try:
            with keep_live_page(run.folder, audience, open_page) as watched:
                session = replace(session, audience=watched)
                doubt = session.show_opening()
                # Asked on the first start only: whoever goes on has seen them.
                if not session.begun:
                    require_liking(components, run.folder, doubt)
                evolved = session.run_loop()
                summary = session.finish(evolved, started)
        except KeyboardInterrupt:
            raise report_stop(run.folder.root, session.plan, account) from None
    return Outcome(run.folder, components, session.plan, evolved, summary)


def preview(run: CheckedRun, audience: Audience | None = None) -> Path:
    """Begin a run, show the provider's first images, and leave it there: no privacy budget is spent.

    Returns:
        The page that shows them.

    Raises:
        ClientError: Why it ended.
    """
    with _open_session(run, audience or Audience(), only_look=True) as (*_, session):
        session.show_opening()
    return run.folder.preview


@dataclass(frozen=True)
class Session:
    """A run under way, whose plan is fixed.

    Attributes:
        begun: Whether its plan was on record before.
        title: What its progress is called.
        say_spent: Says what it has spent so far, in a sentence without its full stop.
    """

    settings: RunConfig
    folder: RunFolder
    plan: PublicPlan
    spoken: Dialect
    transcript: Transcript
    connection: Connection
    usability: Usability
    audience: Audience
    begun: bool
    title: str
    judge: Judge
    say_spent: Callable[[], str]
    chooser: Chooser | None = None

    def show_opening(self) -> str:
        """Ask for the first images, unless they are on record, and show them; nothing private has a part in it.

        Returns:
            What the owner should think of before going on; empty for nothing.

        Raises:
            ProviderError: No usable answer.
            UnusableError: Too few images can be used, or all are the same.
        """
        plan, kind, console = self.plan, self.plan.modality.kind, self.audience.console
        shown: Population = dict.fromkeys(plan.labels, ())
        with console.status(f"asking the provider for a few {kind}s of each class") as said:
            for call in plan.opening:
                said.update(f"asking the provider for a few {kind}s of each class: {call.label}")
                made = self.connection.gate.create(call)
                shown = {**shown, call.label: shown[call.label] + made}
        record = RunReader.strict(self.folder.root)
        pool = make_pool([shown], self.usability.identify)
        page = write_preview(record, doubt := self.usability.describe_repeats(pool))
        load_kind(kind).show_first(record, plan, console)
        paid = any(not event.free for each in record.receipts for event in each.events)
        spent = "so far" if paid else "no privacy budget was spent"
        bill = f"; {self.connection.bill()}" if is_paid(self.connection.meter) else ""
        made_of = "words alone" if plan.start is None else "the release"
        console.print(lay_out([("preview", f"{page}    drawn from {made_of}; {spent}{bill}")]))
        for note in note_answers(plan, record, self.spoken):
            console.print(f"WARNING: {note}")
        self._require_usable(pool)
        return doubt

    def run_loop(self) -> Evolved:
        """Run the loop; before every payment the newest candidates must leave something to choose."""
        plan, audience, pace = self.plan, self.audience, self.connection.pace
        recorded = self.connection.meter.list_recorded(plan)
        progress = RunProgress(plan, self.title, audience, self.connection.bill, recorded)
        judge = PacedJudge(self.judge, self.connection.gate, self._require_usable)
        try:
            with progress.show():
                evolved = evolve(plan, self._generator, judge, progress, self.usability.identify)
            if not plan.selects:  # what a release selects from was looked at before
                self._require_usable(pool_last(plan, evolved, self.usability.identify), is_dataset=True)
            return evolved
        finally:
            kept = judge_padding(pace.longest, pace.tick)
            if audience.verbose or kept.startswith("WARNING"):
                # A section that was too long is told of in any case: its provider could see it.
                audience.console.print(kept)

    def finish(self, evolved: Evolved, started: float) -> dict[str, Any]:
        """Close the record, write what the run was for, and return its summary with what the owner alone is told."""
        folder, meter = self.folder, self.connection.meter
        self.connection.gate.finish(self._assess(evolved))
        record = RunReader.strict(folder.root)
        if not folder.finished:
            # A crash may have come behind the release: it is whole or not there, and never written over.
            publish(folder.release, Release.of(record, evolved.dataset), self.transcript.bodies.file)
        write_report(record)
        result = {
            **write_summary(record),
            "cost": None if (cost := meter.known_cost) is None else round(cost, 6),
            "bill": self.connection.bill(),
            "wall_seconds": round(time.monotonic() - started, 1),
            "dataset": str(folder.release),
            "report": str(folder.report),
        }
        export_run(folder.root, self.settings.output.formats)
        write_private(OwnerFolder.of(folder.root, self.settings.privacy.ledger).result, result)
        # Last, when nothing is written any more.
        folder.forget_times()
        return result

    @property
    def _generator(self) -> Generator:
        """The gate, whose answers are embedded as they come where something compares them."""
        gate = self.connection.gate
        return gate if self.chooser is None else EmbeddingGenerator(gate, self.chooser, gate.has_receipt)

    def _require_usable(self, pool: Pool, *, is_dataset: bool = False) -> None:
        """Refuse to go on where too few of the newest candidates can be used; tell the owner what is left out."""

        def spent() -> str:
            return f"{self.say_spent()}; {self.connection.bill()}"

        self.usability.require(pool, spent, is_dataset=is_dataset)
        for note in self.usability.notes(pool):
            self.audience.console.print(f"WARNING: {note}")

    def _assess(self, evolved: Evolved) -> Assessment | None:
        """Assess the dataset's use, from what was paid for anyway; None where that says nothing."""
        if self.chooser is None:
            return None
        stored = self.transcript.bodies.file
        return assess(self.chooser, evolved.receipts, evolved.pools.__getitem__, evolved.dataset, stored)


@contextmanager
def _open_session(
    run: CheckedRun, audience: Audience, only_look: bool = False
) -> Iterator[tuple[Components, Account, Session]]:
    """Read the data, make sure that the budget allows all of the plan, greet the API, and fix the plan.

    What private work can be done before the greeting is; the rest, which waits for the plan, takes whole ticks.
    """
    folder, console = run.folder, audience.console
    try:
        with show_work(console, f"reading private {dialect(run.settings.provider.dialect).makes}s") as told:
            # Private data are read before the folder is claimed: a refusal leaves nothing behind.
            components = Components.of(run, told)
        settings = components.settings
        with (
            folder.claim(run.resume),
            closing(open_ledger(settings, folder.has_plan(), console.print)) as ledger,
            open_record(folder, ledger) as transcript,
            components.connect(transcript, console) as connection,
        ):
            with show_work(console, f"embedding private {components.dialect.makes}s") as told:
                account, draft, notes = prepare(components, ledger, transcript, told)
            begun = transcript.plan()
            plan, advice = _greet(components, connection.gate, draft, begun)
            _introduce(components, plan, notes, advice, connection, audience, begun is not None)
            calls = plan.opening if only_look else tuple(plan.calls.values())
            # What is on record was wanted when it was put there.
            doubts = list_doubts(components, plan) if begun is None else ()
            approve(components.address, settings, calls, connection, doubts)
            if begun is None:
                plan = _settle_batch(components, connection, plan, console)
            # Only now: until the provider was greeted and the owner agreed, there is no run to go on with.
            owner = OwnerFolder.of(folder.root, settings.privacy.ledger)
            owner.keep_options(settings)
            # Enrolling takes as long as the ledger is large, and the provider is waiting by now.
            with connection.gate.private_section():
                account.enrol()
                connection.gate.begin(plan, account.is_committed, account.read_measured)
            owner.bind()
            chooser = components.chooser(plan, transcript)
            session = Session(
                *(settings, folder, plan, components.dialect, transcript, connection),
                *(Usability(plan, transcript.bodies.file), audience, begun is not None),
                title=components.method.name,
                judge=components.judge(plan, account, chooser),
                say_spent=partial(say_spent, plan, account),
                chooser=chooser,
            )
            yield components, account, session
    except KeyboardInterrupt:
        raise report_early_stop(folder) from None


def _introduce(
    components: Components,
    plan: PublicPlan,
    notes: Sequence[Fact],
    advice: Advice | None,
    connection: Connection,
    audience: Audience,
    resumes: bool,
) -> None:
    """Tell the owner what a run does, costs and promises; if asked for, every other fact too."""
    facts = introduce(components, plan, notes, connection.meter, connection.pace.tick, advice)
    told = [line for each in facts if (line := each.line(audience.verbose))[1]]
    heading = "Before the run goes on" if resumes else "Before anything is spent"
    lines = [*(RESUMED if resumes else ()), *told]
    audience.console.print(lay_out(lines, heading if audience.verbose else None))


def _greet(
    components: Components, gate: Gate, draft: PublicPlan, begun: PublicPlan | None
) -> tuple[PublicPlan, Advice | None]:
    """Greet the API, refuse what its model cannot do, and settle the plan by what it says; with what it recommends."""
    spoken, provider, greeting = components.dialect, components.settings.provider, gate.hello(draft.run_id)
    if not components.address.greets:
        plan = resolve_plan(components, draft.run_id, FALLBACK_SIZE, draft.earlier, None, None)
        return keep_recorded(begun, plan, components.settings), None
    size = spoken.native_size(provider.model, greeting) or FALLBACK_SIZE
    if provider.adapter is not None:
        spoken.require_adapter(provider.model, provider.adapter, greeting)
    if provider.negative_prompt:
        spoken.require_negative_prompts(provider.model, greeting)
    library, advice = spoken.library(provider.model, greeting), spoken.advice(provider.model, greeting)
    graded = spoken.takes_strength(provider.model, greeting)
    plan = resolve_plan(
        *(components, draft.run_id, size, draft.earlier, library, advice, graded),
        exact=spoken.exact(provider.model, greeting),
    )
    return keep_recorded(begun, plan, components.settings), advice


def _settle_batch(
    components: Components, connection: Connection, plan: PublicPlan, console: Console
) -> PublicPlan:
    """Ask for one text a request where the API takes no number of them, which only asking for two at once tells."""
    is_known = components.settings.provider.fields is not None
    if is_known or plan.modality.kind != "text" or all(call.count == 1 for call in plan.calls.values()):
        return plan
    if connection.gate.takes_several(plan.model):
        return plan
    modality = {**plan.texts.model_dump(), "fields": (*plan.texts.fields, "n=")}
    single = {"batch": 1, "at_once": choose_at_once(components, 1), "modality": modality}
    alone = PublicPlan.model_validate({**plan.model_dump(), **single})
    connection.meter.check(connection.meter.forecast(alone.calls.values()), None)
    console.print(
        f"One text a request, {len(alone.calls)} in all: the API did not write two when it was asked to."
    )
    return alone
