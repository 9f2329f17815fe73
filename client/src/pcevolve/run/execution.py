"""One run from options to dataset (composition root, with ``parts``, ``demo`` and ``cli``)."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console

from pcevolve.durable import write_durably
from pcevolve.egress.allowance import Allowance, Meter
from pcevolve.egress.gate import Gate
from pcevolve.egress.pace import Pace
from pcevolve.egress.paced import PacedJudge
from pcevolve.egress.retry import Patience
from pcevolve.egress.transport import HttpTransport
from pcevolve.errors import LedgerError, UsageError
from pcevolve.evolve import Evolved, evolve
from pcevolve.ledger.creation import require_volume
from pcevolve.ledger.ledger import Account, Ledger, Terms
from pcevolve.pages.report import write_report
from pcevolve.providers.dialect import ModelSize
from pcevolve.public.plan import Earlier, PublicPlan
from pcevolve.publish import Release, publish, write_summary
from pcevolve.publish.summary import encoded
from pcevolve.run.components import Parts
from pcevolve.run.folder import RunFolder
from pcevolve.run.planning import resolved_plan
from pcevolve.run.progress import RunProgress, error_console, facts, padding, padding_kept
from pcevolve.run.promise import Aside, promise
from pcevolve.run.settings import RunSettings, ledger_volume, option
from pcevolve.transcript import RunReader, Transcript
from pcevolve.transcript.records import Opened

FALLBACK_SIZE = ModelSize(512, 512)


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    folder: RunFolder
    parts: Parts
    plan: PublicPlan
    evolved: Evolved
    summary: dict[str, Any]


@dataclass(frozen=True)
class _Session:
    """A run under way."""

    parts: Parts
    folder: RunFolder
    plan: PublicPlan
    gate: Gate
    transcript: Transcript
    account: Account
    meter: Meter
    pace: Pace


def execute(settings: RunSettings, resume: bool = False) -> Outcome:
    """Carry out a run, or the rest of one.

    Raises:
        ClientError: Why it ended; what was paid for is on record, and ``resume`` continues from there.
    """
    started = time.monotonic()
    folder = RunFolder(settings.out)
    if resume and folder.config.exists():
        settings = _stored(folder, settings)
    parts = Parts.of(settings)
    console = error_console()
    with folder.claimed(resume), _session(settings, parts, folder, console) as session:
        evolved = _evolved(session, console)
        summary = _finished(session, evolved, started)
    return Outcome(folder, parts, session.plan, evolved, summary)


@contextmanager
def _session(settings: RunSettings, parts: Parts, folder: RunFolder, console: Console) -> Iterator[_Session]:
    """Make sure that the budget allows all of the plan, greet the API, and fix the plan.

    What private work can be done before the greeting is; the rest, which waits for the plan, takes whole ticks.
    """
    patience = Patience(
        settings.patience,
        settings.first_contact,
        lambda reason, pause: console.print(f"the API is not answering ({reason}); again in {pause:.0f} s"),
    )
    with (
        closing(Transcript(folder.transcript)) as transcript,
        closing(_ledger(settings, begun=transcript.plan() is not None)) as ledger,
        closing(HttpTransport(settings.timeout)) as transport,
    ):
        pace = Pace(settings.pad_selection, settings.pace)
        meter = Meter(_allowance(settings), parts.dialect, transcript)
        gate = Gate(transcript, parts.dialect, parts.address, transport, patience, pace, meter)
        account, draft, aside = _prepared(settings, parts, ledger, transcript)
        size = parts.dialect.native_size(settings.model, gate.hello(draft.run_id)) or FALLBACK_SIZE
        plan = resolved_plan(settings, parts, draft.run_id, size, draft.earlier)
        told = {**promise(parts, plan, aside), "time": padding(pace.tick)}
        console.print(facts("Before anything is spent", told))
        _approve(settings, parts, plan, gate, meter)
        settings.save(folder.config)
        with gate.private_section():
            account.enrol()
            gate.begin(plan, account.committed, account.measured)
        yield _Session(parts, folder, plan, gate, transcript, account, meter, pace)


def _earlier(transcript: Transcript, account: Account) -> Earlier:
    """What the provider had seen when the run began, which a run that goes on does not count anew."""
    recorded = transcript.plan()
    return account.earlier() if recorded is None else recorded.earlier


def _ledger(settings: RunSettings, begun: bool) -> Ledger:
    """The run's ledger, which is new only if the run is.

    Raises:
        LedgerError: It is gone, and with it the memory of what the run has drawn; or it would not outlive a container.
    """
    require_volume(settings.ledger, ledger_volume())
    if begun and not settings.ledger.exists():
        raise LedgerError(
            f"the ledger of this run is gone from {settings.ledger}: restore it and its key, or begin a new run; with "
            "another ledger this one would draw again what it has drawn"
        )
    return Ledger(settings.ledger)


def _prepared(
    settings: RunSettings, parts: Parts, ledger: Ledger, transcript: Transcript
) -> tuple[Account, PublicPlan, Aside]:
    """The run's account, its plan but for sizes, and what the owner is told, once all of it can be paid for.

    Private images are embedded too. All of it comes before the API is greeted, which would learn from a refusal that
    these data were used before, and from a delay how large they are. The sizes of the API's images, which only it
    knows, have no part in any of this.

    Raises:
        BudgetError: Not enough is left.
        DataError: A private image has no embedding.
        LedgerError: The run cannot be paid from this ledger.
    """
    run_id, begun = _run_id(transcript), transcript.plan() is not None
    plan = resolved_plan(settings, parts, run_id, FALLBACK_SIZE)
    terms = Terms(plan.api, plan.secure, plan.unit_size, plan.forgets_insecure)
    units = parts.data.privacy_units()
    account = ledger.account(run_id, units, plan.relation, parts.limits, plan.unit, terms)
    if begun and not account.enrolled:
        raise LedgerError(
            f"the ledger {ledger.path} does not know this run, which has begun: restore the one that it began with"
        )
    account.require([event for each in parts.method.planned(plan).values() for event in each])
    parts.prepare(plan)
    draft = plan.model_copy(update={"earlier": _earlier(transcript, account)})
    return account, draft, Aside.of(parts, draft, account)


def _approve(settings: RunSettings, parts: Parts, plan: PublicPlan, gate: Gate, meter: Meter) -> None:
    """Make sure that requests and cost are within limits, and that a person wants them.

    Raises:
        UsageError: They are not, or nobody does; nothing has been sent but questions about the API itself.
    """
    near, forecast = parts.address.is_nearby, meter.forecast(plan)
    asks = not near or meter.allowance.cost is not None or meter.allowance.price is not None
    meter.check(forecast, gate.balance() if asks else None)
    if near or settings.yes or not sys.stdin.isatty():
        return
    cost = "an unknown sum (see --price)" if forecast.cost is None else f"{forecast.cost:g}"
    question = f"{forecast.requests} requests for {forecast.images} images to {plan.api}, for {cost}: go on?"
    if not typer.confirm(question, err=True):
        raise UsageError("not started, as you wish: no prompt and no image was sent")


def _allowance(settings: RunSettings) -> Allowance:
    return Allowance(settings.max_requests, settings.max_cost, settings.price)


def _stored(folder: RunFolder, settings: RunSettings) -> RunSettings:
    """The options that the run began with; only how to reach the API, and limits on its use, may be new.

    Raises:
        UsageError: Another option was given that is not what the run began with.
    """
    reach = {"api_key_file", "timeout", "patience", "first_contact", "pad_selection", "pace"}
    reach |= {"max_requests", "max_cost", "price", "yes"}
    stored = RunSettings.load(folder.config)
    for name in sorted(settings.model_fields_set - reach - {"out"}):
        if getattr(settings, name) != getattr(stored, name):
            raise UsageError(
                f"{option(name)} is not what this run began with, which was {getattr(stored, name)}: a run's options "
                "do not change; leave it out, or begin a new run with another --out"
            )
    return stored.model_copy(update=settings.model_dump(include=reach))


def _run_id(transcript: Transcript) -> str:
    first = transcript.entries[0].record if transcript.entries else None
    return first.run_id if isinstance(first, Opened) else secrets.token_hex(16)


def _evolved(session: _Session, console: Console) -> Evolved:
    parts, plan = session.parts, session.plan
    progress = RunProgress(plan, parts.method.name, console)
    judge = PacedJudge(parts.judge(plan, session.account, session.transcript), session.gate)
    try:
        with progress.shown():
            # a plan of its own: what a loop does to it changes neither what leaves nor what is published
            return evolve(plan.model_copy(deep=True), session.gate, judge, progress)
    finally:
        console.print(padding_kept(session.pace.longest, session.pace.tick))


def _finished(session: _Session, evolved: Evolved, started: float) -> dict[str, Any]:
    """Close the record and write what the run was for."""
    plan, transcript, folder = session.plan, session.transcript, session.folder
    session.gate.finish()
    lines = len(transcript.entries)
    release = Release(plan, session.parts.method, evolved.dataset, evolved.receipts, transcript.head, lines)
    if not folder.finished:
        publish(folder.release, release, transcript.bodies.file)
    write_report(folder.root)
    result = {
        **write_summary(RunReader.strict(folder.root)),
        "cost": round(session.meter.cost, 6) if session.meter.knows_cost else None,
        "wall_seconds": round(time.monotonic() - started, 1),
        "dataset": str(folder.release),
        "report": str(folder.report),
    }
    save_result(folder, result)
    return result


def save_result(folder: RunFolder, result: dict[str, Any]) -> None:
    """Keep what the owner was told in the end, where nobody else reads it."""
    write_durably(folder.result, encoded(result), 0o600)
