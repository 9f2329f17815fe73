"""One run on the runner's side, from checked options to a published dataset; the keeper does the private work."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from pcevolve.public import protocol
from pcevolve.public.loop.evolution import Evolved, UntrustedGenerator, evolve, pool_last
from pcevolve.public.loop.lineage import Judge, Lineage, Pool, Population, make_pool
from pcevolve.public.loop.usability import Usability
from pcevolve.public.pages.live import write_preview
from pcevolve.public.pages.report.page import write_report
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.assessed import AssessedFigures
from pcevolve.public.publish.dataset import publish, write_summary
from pcevolve.public.publish.exports import export_run
from pcevolve.public.publish.promises import say_shortfall
from pcevolve.public.publish.release import DatasetRelease
from pcevolve.public.release import count_rounds
from pcevolve.public.run.progress import Audience
from pcevolve.public.screen import lay_out, lay_out_facts
from pcevolve.public.transcript.log import Transcript
from pcevolve.public.transcript.reader import RunReader
from pcevolve.wire.approval import approve, list_doubts, require_liking
from pcevolve.wire.asking import AskingJudge, RecordingJudge, TellingGenerator
from pcevolve.wire.console import introduce, is_paid, note_answers, report_early_stop, report_stop, say_spent
from pcevolve.wire.reaching import ProviderConnection, RunnerJob, connect, greet, make_address, open_record
from pcevolve.wire.showing import RunProgress, keep_live_page, show_first

RESUMED = (("resumed", "nothing will be paid twice"),)
FINISHED = (("finished", "this run is already finished; nothing more was sent or spent"),)


class Owners(Protocol):
    """Several owners of one run, as the runner sees them."""

    def make_judge(self, keeper: protocol.PrivateSide, head: Callable[[], str]) -> AskingJudge:
        """Return a judge that requests answers from all owners."""
        ...

    def wait(self, plan: PublicPlan) -> None:
        """Wait until all owners have agreed to a plan, which is on record."""
        ...


def carry_out(
    job: RunnerJob, keeper: protocol.PrivateSide, audience: Audience, owners: Owners | None = None
) -> tuple[PublicPlan, Evolved, dict[str, Any]]:
    """Carry out a run, or the rest of one, in a claimed folder; return its plan, its result and its summary.

    Args:
        owners: The owners of the private data if there are several; the keeper then has no data.
    """
    started = time.monotonic()
    with _open_session(job, keeper, audience, owners=owners) as (judge, session):
        try:
            with keep_live_page(job.folder, audience) as watched:
                session = replace(session, audience=watched)
                doubt = session.show_opening()
                # Only on the first start, because the owner of a resumed run has already seen the images.
                if not session.begun:
                    require_liking(session.plan, job, doubt, audience.person)
                evolved = session.run_loop()
                return session.plan, evolved, session.finish(evolved, started)
        except KeyboardInterrupt:
            raise report_stop(job.folder.root, session.plan, judge.receipts) from None


def look(job: RunnerJob, keeper: protocol.PrivateSide, audience: Audience) -> None:
    """Begin a run in a claimed folder, and show the provider's first images."""
    with _open_session(job, keeper, audience, only_look=True) as (_, session):
        session.show_opening()


@dataclass(frozen=True)
class Session:
    """A run whose plan is fixed.

    Attributes:
        begun: Whether the plan was already on record.
        done: Whether the dataset was already released.
        title: Title of the progress bar.
        say_spent: Returns what the run has spent so far, as a sentence without its full stop.
        generator: The gate, which also forwards each answer to the judge.
        keeper: The keeper of the private data; None without private data.
    """

    job: RunnerJob
    plan: PublicPlan
    transcript: Transcript
    connection: ProviderConnection
    usability: Usability
    audience: Audience
    begun: bool
    done: bool
    title: str
    judge: Judge
    say_spent: Callable[[], str]
    generator: UntrustedGenerator
    keeper: protocol.PrivateSide | None = None

    def show_opening(self) -> str:
        """Get the first images, unless they are on record, and show them; no private data is used.

        Returns:
            A doubt about the images for the owner; empty for none.

        Raises:
            ProviderError: There was no usable answer.
            UnusableError: Too few images can be used, or all are the same.
        """
        plan, many, console = self.plan, self.plan.modality.nouns.many, self.audience.console
        shown: Population = dict.fromkeys(plan.labels, ())
        with console.status(f"requesting a few {many} of each class") as status:
            for call in plan.opening:
                status.update(f"requesting a few {many} of each class: {call.label}")
                made = self.connection.gate.create(call)
                shown = {**shown, call.label: shown[call.label] + made}
        record = RunReader.strict(self.job.folder.root)
        pool = make_pool([shown], self.usability.identify)
        page = write_preview(record, doubt := self.usability.describe_repeats(pool))
        if not self.done:
            self._print_opening(record, page)
        if self.keeper is not None:
            made_of_class = (tuple(each.digest for each in shown[label]) for label in plan.labels)
            self.keeper.compare(protocol.Compare(classes=tuple(made_of_class)))
        self._require_usable(pool)
        return doubt

    def _print_opening(self, record: RunReader, page: Path) -> None:
        plan, console = self.plan, self.audience.console
        show_first(record, plan, console)
        paid = any(not event.free for each in record.receipts for event in each.events)
        spent = "" if paid else "; no privacy budget was spent"
        bill = f"; {self.connection.bill()}" if is_paid(self.connection.meter) else ""
        made_of = "words alone" if plan.start is None else "the release"
        console.print(lay_out([("preview", f"{page}    made from {made_of}{spent}{bill}")]))
        for note in note_answers(plan, record, self.job.api_dialect):
            console.print(f"WARNING: {note}")

    def run_loop(self) -> Evolved:
        """Run the loop; before every payment, enough of the newest candidates must be usable."""
        plan, usability = self.plan, self.usability
        recorded = self.connection.meter.list_recorded(plan)
        progress = RunProgress(plan, self.title, self.audience, self.connection.bill, recorded)
        judge = RecordingJudge(self.judge, self.connection.gate, self._require_usable)
        with progress.show():
            evolved = evolve(plan, self.generator, judge, progress, usability.identify, usability.is_enough)
        if evolved.ended_by is not None:
            self.audience.console.print(f"WARNING: {self._say_end(evolved, evolved.ended_by)}")
        elif not plan.selects:  # a release's candidates were checked before
            self._require_usable(pool_last(plan, evolved, usability.identify), is_dataset=True)
        return evolved

    def finish(self, evolved: Evolved, started: float) -> dict[str, Any]:
        """Close the record, write the dataset or release, and return the run's summary."""
        folder, meter = self.job.folder, self.connection.meter
        self.connection.gate.finish(self._assess())
        record = RunReader.strict(folder.root)
        if not folder.finished:
            # After a crash, a complete release may exist; it is never overwritten.
            publish(folder.release, DatasetRelease.of(record, evolved.dataset), self.transcript.bodies.file)
        write_report(record)
        result = {
            **write_summary(record),
            "cost": None if (cost := meter.known_cost) is None else round(cost, 6),
            "bill": self.connection.bill(),
            "wall_seconds": round(time.monotonic() - started, 1),
            "dataset": str(folder.release),
            "report": str(folder.report),
        }
        if short := say_shortfall(self.plan, result["images_released"]):
            released = self.plan.modality.nouns.count(result["images_released"])
            self.audience.console.print(f"WARNING: {released} released; {short}")
        export_run(folder.root, self.job.settings.output.formats)
        if self.keeper is not None:
            self.keeper.finish(protocol.Finish(figures=result))
        return result

    def _require_usable(self, pool: Pool, *, is_dataset: bool = False) -> None:
        """Stop the run if too few of the newest candidates can be used; otherwise warn of candidates that are left out.

        After the first release nothing stops the run here, because a run that has paid keeps its result.
        """

        def spent() -> str:
            return f"{self.say_spent()}; {self.connection.bill()}"

        if not any(map(self.connection.gate.has_receipt, self.plan.releases)):
            self.usability.require(pool, spent, is_dataset=is_dataset)
        for note in self.usability.notes(pool):
            self.audience.console.print(f"WARNING: {note}")

    def _say_end(self, evolved: Evolved, pool: Pool) -> str:
        """State why a run ends before its plan does, and how many rounds it has done."""
        plan = self.plan
        done = count_rounds(plan, (each.iteration for each in evolved.receipts))
        rest = (
            f"round {done} of {plan.method.iterations} was the last, and n"
            if done < plan.method.iterations
            else "N"
        )
        return (
            f"{self.usability.fault(pool)}. {rest}othing more is paid for: what was chosen so far is released"
        )

    def _assess(self) -> AssessedFigures | None:
        return None if self.keeper is None else self.keeper.assess(protocol.Assess()).assessment


@contextmanager
def _open_session(
    job: RunnerJob,
    keeper: protocol.PrivateSide,
    audience: Audience,
    only_look: bool = False,
    owners: Owners | None = None,
) -> Iterator[tuple[AskingJudge, Session]]:
    """Have the keeper check the budget for the complete plan, greet the API, and fix the plan.

    The keeper does its private work before the greeting if possible. The time of work that needs the plan
    is padded to whole ticks.
    """
    folder, console, address = job.folder, audience.console, make_address(job.settings.provider, job.key)
    try:
        # The run id is sent to the provider. It is random, so that it reveals nothing about other runs.
        run_id = RunReader.strict(folder.root).opened.run_id if folder.has_plan() else secrets.token_hex(16)
        # Before the API is contacted, so that it cannot time the private work.
        prepared = keeper.prepare(protocol.Prepare(run_id=run_id))
        with (
            open_record(folder) as transcript,
            connect(job, address, transcript, console) as connection,
        ):
            begun = transcript.plan() is not None
            statement = greet(job, connection.gate, run_id)
            plan = keeper.settle(statement).plan
            facts = introduce(plan, prepared, connection.meter, statement.advice)
            heading = "Before the run goes on" if begun else "Before anything is spent"
            resumed = RESUMED if begun else ()
            done = begun and folder.finished
            if done:
                console.print(lay_out(FINISHED))
            else:
                console.print(
                    lay_out_facts(facts, audience.verbose, heading if audience.verbose else None, resumed)
                )
            calls = plan.opening if only_look else tuple(plan.calls.values())
            # Doubts are raised once, before the plan is on record.
            doubts = () if begun else list_doubts(plan)
            approve(connection, calls, job.settings.provider.yes, doubts, audience.person)
            if not begun:
                # After consent, because this may send a request that costs money.
                plan = _settle_batch(keeper, statement, job, connection, plan, console)
            judge = (AskingJudge if owners is None else owners.make_judge)(keeper, lambda: transcript.head)
            judge.begin(plan)
            usability = Usability(plan, transcript.bodies.file)
            rule = Lineage(plan, usability.identify, usability.is_enough)
            connection.gate.begin(plan, judge.is_committed, judge.read_measured, rule, judge.read_answers)
            if owners is not None:
                owners.wait(plan)
            session = Session(
                *(job, plan, transcript, connection, usability, audience, begun, done),
                title=plan.method.name,
                judge=judge,
                say_spent=lambda: say_spent(plan, judge.receipts),
                generator=TellingGenerator(connection.gate, keeper),
                keeper=keeper,
            )
            yield judge, session
    except KeyboardInterrupt:
        raise report_early_stop(folder) from None


def _settle_batch(
    keeper: protocol.PrivateSide,
    statement: protocol.Settle,
    job: RunnerJob,
    connection: ProviderConnection,
    plan: PublicPlan,
    console: Console,
) -> PublicPlan:
    """Plan one text per request if the API cannot make several; only a request for two texts shows whether it can."""
    is_known = job.settings.provider.fields is not None
    if is_known or all(call.count == 1 for call in plan.calls.values()):
        return plan
    if connection.gate.questions.takes_several(plan.provider.model):
        return plan
    alone = keeper.settle(statement.model_copy(update={"takes_several": False})).plan
    connection.meter.check(connection.meter.forecast(alone.calls.values()), None)
    console.print(
        f"The API did not write two texts when two were requested, so each of the {len(alone.calls)} "
        "requests asks for one text."
    )
    return alone
