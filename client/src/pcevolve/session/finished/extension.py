"""More of a dataset that is finished: variations of what was released, which ask the private images nothing.

No private image is read and nothing is paid: what is varied is of the last round, or was chosen by the last receipt,
and the ledger is only asked whether the receipts on record were paid for. The loop runs again from the record, as when
a run is resumed, and goes on where the record ends.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from pcevolve import selectors
from pcevolve.config.config import RunConfig
from pcevolve.egress.address import Address
from pcevolve.egress.allowance import Meter
from pcevolve.egress.in_process import Generator
from pcevolve.errors import StoppedError, TranscriptError, UsageError
from pcevolve.evolution import Evolved, Pool, evolve
from pcevolve.ledger.ledger import Ledger
from pcevolve.pages.report.page import write_report
from pcevolve.providers import dialect
from pcevolve.providers.dialect import require
from pcevolve.public.fields import MOST_EXTENSIONS
from pcevolve.public.options import list_options, spell, validate
from pcevolve.public.parts import Extension
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Query, Receipt
from pcevolve.publish.dataset import export_run, find_forms, publish, write_summary
from pcevolve.publish.promises import describe_extension, list_marks
from pcevolve.publish.release import Release
from pcevolve.screen import lay_out
from pcevolve.selectors.method import CREATES, VARIES
from pcevolve.session.approval import approve, forecast_costs
from pcevolve.session.execution import save_result
from pcevolve.session.folder import RunFolder
from pcevolve.session.preflight import require_ledger
from pcevolve.session.progress import Audience, RunProgress
from pcevolve.session.reaching import Connection, connect, make_address, make_rewriter_address
from pcevolve.transcript import RunReader, Transcript
from pcevolve.transcript.layout import CARD, CLASSIFIER, MANIFEST, RELEASE, find_file_faults


@dataclass(frozen=True)
class Asked:
    """An extension that somebody asks for.

    Attributes:
        strength: Image-to-image strength; if None the last that the run used, or its method's last, where its API
            takes any.
    """

    folder: RunFolder
    more: int
    strength: float | None
    settings: RunConfig
    key: str | None = field(repr=False)
    generator: Generator | None = None

    @classmethod
    def of(
        cls,
        root: Path,
        more: int,
        strength: float | None,
        options: Mapping[str, Any],
        key: str | None = None,
        generator: Generator | None = None,
    ) -> Self:
        """Take the options that the run began with, and new ones for how its API is reached."""
        folder = RunFolder(root)
        folder.require_transcript()
        for option in list_options(RunConfig):
            if option.name in options and not (option.setting.resumable or option.name == "ledger"):
                raise UsageError(
                    f"{spell(option.name, RunConfig)} cannot be another one than the run's: only "
                    "how the API is reached, what may be spent there, and where the ledger is"
                )
        RunReader.lenient(root).require_plan()
        # Who said yes to the run may be somebody else than who extends it.
        settings = RunConfig.load(folder.config).changed(**{"yes": False, **options})
        return cls(folder, more, strength, settings, settings.key() if key is None else key, generator)


@dataclass(frozen=True)
class _Recorded:
    """A judge without private images: it knows the receipts on record, and no others."""

    receipts: Mapping[int, Receipt]

    def show(self, query: Query, pool: Pool) -> None:
        """There is nothing to prepare."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """The receipt on record; ``TranscriptError`` where there is none."""
        if query.iteration not in self.receipts:
            raise TranscriptError(f"the record has no receipt for iteration {query.iteration}")
        return self.receipts[query.iteration]


def extend(asked: Asked, audience: Audience | None = None) -> dict[str, Any]:
    """Extend a finished run, or go on with an extension that was cut off.

    Returns:
        The summary of the run, which counts what was added.

    Raises:
        UsageError: It is no finished run, or its release holds what is not the run's.
        ClientError: Why it ended; it can be continued with the same command.
    """
    audience, folder = audience or Audience(), asked.folder
    folder.require_transcript()
    with folder.claim(resume=True):
        Transcript(folder.transcript).close()  # drops a line that a crash tore off
        run = RunReader.strict(folder.root)
        if run.closed is None:
            raise run.make_unfinished_error()
        number, extension = _due(asked, run)
        _require_own_release(run)
        try:
            return _publish(asked, _evolve(asked, run, number, extension, audience))
        except KeyboardInterrupt:
            said = "stopped: no privacy budget is spent by an extension"
            again = f"to go on where it was: {folder.spell_extension(extension.options)}"
            raise StoppedError(said, again) from None


def _due(asked: Asked, run: RunReader) -> tuple[int, Extension]:
    """A new extension and its number, or the one that was cut off; ``UsageError`` for another, or too many."""
    plan = run.require_plan()
    if not plan.grades_variations and asked.strength is not None:
        why = "this run varies prompts" if plan.varies_prompts else "this run's API takes none"
        raise UsageError(f"--strength is how different images are varied, and {why}: leave it out")
    strength = _strength(plan) if asked.strength is None else asked.strength
    wanted = validate(Extension, {"more": asked.more, "strength": strength})
    if not plan.extended or (run.finished and _is_published(run)):
        if len(plan.extended) == MOST_EXTENSIONS:
            raise UsageError(
                f"{asked.folder.root} has been extended {MOST_EXTENSIONS} times, which is all it can be"
            )
        return len(plan.extended) + 1, wanted
    last = plan.extended[-1]
    if last != wanted:
        raise UsageError(
            f"an extension of {asked.folder.root} was cut off: go on with it first, with {last.options}"
        )
    return len(plan.extended), last


def _strength(plan: PublicPlan) -> float | None:
    """Return the strength of variations unless the owner says: the last round's, or what its method's last would be."""
    if not plan.grades_variations:
        return None
    if plan.extended:
        return plan.extended[-1].strength
    return plan.strengths[-1] if plan.strengths else selectors.find_method(plan.method).schedule.end


def _is_published(run: RunReader) -> bool:
    """True if release, summary and report are those of the record as it stands; the report is written last."""
    pages = run.layout.summary.is_file() and run.layout.report.is_file()
    return run.released_head == run.head and pages


def _require_own_release(run: RunReader) -> None:
    """Refuse to replace a release folder that somebody has put something into."""
    if not run.layout.manifest.is_file():
        return
    due = {each.path for each in run.manifest().files} | {MANIFEST, CARD}
    due |= {CLASSIFIER} if run.layout.classifier.is_file() else set()
    for fault in find_file_faults(run.layout.root, RELEASE, due, "is not the run's"):
        if not fault.endswith(" is missing"):
            raise UsageError(f"{fault}: the release is made anew, so move it elsewhere first")


@contextmanager
def _connect(asked: Asked, run: RunReader, extension: Extension, audience: Audience) -> Iterator[Connection]:
    """The gate to where the run's own requests went, on its own record."""
    settings, plan = asked.settings, run.require_plan()
    if plan.in_process != (asked.generator is not None):
        raise UsageError(
            "the images of this run were made by an object in its process: give that object to pcevolve.extend"
            if plan.in_process
            else "the images of this run were made by an API, so no object can make more of them"
        )
    spoken = dialect(plan.dialect)
    require(spoken, CREATES if plan.varies_prompts else VARIES)
    address = make_address(settings.provider, spoken, plan.api, asked.key)
    rewriter = make_rewriter_address(settings, None)
    with (
        closing(Transcript(run.layout.transcript)) as transcript,
        connect(
            settings,
            spoken,
            address,
            transcript,
            audience.console,
            rewriter,
            asked.generator,
            goes_on=run.layout.spell_extension(extension.options),
        ) as connection,
    ):
        connection.gate.hello(plan.run_id)
        yield connection


def _evolve(asked: Asked, run: RunReader, number: int, extension: Extension, audience: Audience) -> Evolved:
    """Ask for what is missing, and close the record again."""
    require_ledger(asked.settings.privacy.ledger)
    before = run.require_plan()
    extended = before.extended_by((*before.extended[: number - 1], extension))
    with (
        closing(Ledger(asked.settings.privacy.ledger, create=False)) as ledger,
        _connect(asked, run, extension, audience) as connection,
    ):
        gate, meter = connection.gate, connection.meter
        told = _describe(extended, extension, meter)
        if asked.folder.audit.is_dir():
            told["removed"] = f"{asked.folder.audit}, pages of an audit of the run as it was"
        notice = lay_out(told.items(), "Before anything is asked for")
        audience.console.print(notice)
        approve(Address(extended.api), asked.settings, extended.calls.values(), connection)
        plan = gate.extend(number, extension, ledger.is_committed)
        # Pages that would tell of the run as it was; they are made anew in the end.
        for page in (asked.folder.report, asked.folder.summary):
            page.unlink(missing_ok=True)
        shutil.rmtree(asked.folder.audit, ignore_errors=True)
        progress = RunProgress(plan, "extension", audience, meter.bill, meter.list_recorded(plan))
        judge = _Recorded({each.iteration: each for each in run.receipts})
        with progress.show():
            evolved = evolve(plan, gate, judge, progress)
        gate.finish()
        audience.console.print(f"cost of the run so far: {meter.bill()}")
    return evolved


def _describe(plan: PublicPlan, extension: Extension, meter: Meter) -> dict[str, str]:
    """Tell the owner what an extension is and costs, by title."""
    forecast = meter.forecast(plan.calls.values())
    kind = plan.modality.kind
    of = f"each selected {kind}" if plan.selects else f"each {kind} of the last round"
    return {
        "asked for": f"{extension.more} more variations of {of}, {describe_extension(plan, extension)}",
        "provider": f"{plan.model} at {plan.api}, {forecast.requests} requests for {forecast.images} {kind}s",
        **forecast_costs(plan, meter),
        "guarantee": f"as it was: no private {kind} is asked anything, so no privacy budget is spent",
        "assumed public": "that you ask for more, and for how much",
        **{f"WARNING {number}": mark for number, mark in enumerate(list_marks(plan), 1)},
    }


def _publish(asked: Asked, evolved: Evolved) -> dict[str, Any]:
    """Write the release anew, and then what is said about it."""
    folder = asked.folder
    record = RunReader.strict(folder.root)
    publish(folder.release, Release.of(record, evolved.dataset), record.bodies.file, anew=True)
    summary = write_summary(record)
    export_run(folder.root, find_forms(folder.root))
    result = {**summary, "dataset": str(folder.release), "report": str(folder.report)}
    save_result(folder, result)
    # Last: the report is what tells that an extension is whole, and the same command after a crash goes on with it.
    write_report(record)
    return result
