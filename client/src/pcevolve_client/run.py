"""One run from options to dataset (composition root, with ``parts``, ``demo`` and ``cli``)."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from rich.console import Console

from .budget.accounting import lift_top10
from .budget.ledger import Account, Ledger
from .console import RunProgress, error_console, facts
from .egress.bodies import write_durably
from .egress.gate import Gate
from .egress.records import Opened
from .egress.retry import Patience
from .egress.transcript import Transcript
from .egress.transport import HttpTransport
from .errors import UsageError
from .evolve import Population, evolve
from .folder import RunFolder
from .methods.method import annealed
from .parts import Parts
from .plan import PublicPlan
from .providers.dialect import ModelSize
from .providers.remote import RemoteGenerator
from .publish import Release, assumptions, marks, publish, published_files
from .report import write_report
from .settings import RunSettings, first_fault

FALLBACK_SIZE = ModelSize(512, 512)


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    folder: RunFolder
    parts: Parts
    plan: PublicPlan
    history: tuple[Population, ...]
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
        console.print(facts("Before anything is spent", promise(parts, session.plan, session.account)))
        history = _evolved(session, console)
        summary = _finished(session, history[-1], started)
    return Outcome(folder, parts, session.plan, history, summary)


def promise(parts: Parts, plan: PublicPlan, account: Account) -> dict[str, str]:
    """What the owner should know before a run: price, guarantee, what it is worth."""
    cost = parts.query_cost(plan)
    before = account.spent_before()
    return {
        "method": parts.method.summary,
        "guarantee": f"epsilon {float(plan.epsilon_budget if cost else 0):g}, delta {plan.delta:g}, "
        f"{plan.relation}, unit: one {plan.unit}",
        "spent before on these data": f"epsilon {float(before):g}",
        "draws": f"{plan.iterations * len(plan.labels)} at epsilon {float(cost):.4g} each",
        "selection lift": f"the best tenth of the candidates holds at most {lift_top10(cost, plan.candidates):.1%} "
        "of the probability of a draw (uniform: 10%)",
        "assumed public": "; ".join(assumptions(plan)),
        "provider": f"{plan.model} at {plan.api}, {len(plan.calls)} requests for "
        f"{sum(call.count for call in plan.calls.values())} images",
        **{f"WARNING {place + 1}": mark for place, mark in enumerate(marks(plan))},
    }


@contextmanager
def _session(settings: RunSettings, parts: Parts, folder: RunFolder, console: Console) -> Iterator[_Session]:
    """Greet the API, fix the plan, and make sure that the budget allows all of it."""
    patience = Patience(
        settings.patience,
        settings.first_contact,
        lambda reason, pause: console.print(f"the API is not answering ({reason}); again in {pause:.0f} s"),
    )
    with (
        closing(Ledger(settings.ledger)) as ledger,
        closing(Transcript(folder.transcript)) as transcript,
        closing(HttpTransport(settings.timeout)) as transport,
    ):
        gate = Gate(transcript, parts.dialect, parts.address, transport, patience)
        run_id = _run_id(transcript)
        plan = _plan(settings, parts, run_id, gate.hello(run_id))
        account = ledger.enrol(run_id, parts.data.units, plan.relation, parts.limits)
        account.require(parts.query_cost(plan) * plan.iterations * len(plan.labels))
        settings.save(folder.config)
        gate.begin(plan, account.committed)
        yield _Session(parts, folder, plan, gate, transcript, account)


def _stored(folder: RunFolder, settings: RunSettings) -> RunSettings:
    """The options that the run began with; only how to reach the API may be new."""
    reach = {"api_key_file", "timeout", "patience", "first_contact"}
    return RunSettings.load(folder.config).model_copy(update=settings.model_dump(include=reach))


def _run_id(transcript: Transcript) -> str:
    first = transcript.entries[0].record if transcript.entries else None
    return first.run_id if isinstance(first, Opened) else secrets.token_hex(16)


def _plan(settings: RunSettings, parts: Parts, run_id: str, hello: bytes) -> PublicPlan:
    """Resolve the options into the public plan, from public facts only.

    Raises:
        UsageError: An option is out of bounds.
    """
    size = parts.dialect.native_size(settings.model, hello) or FALLBACK_SIZE
    shared = set(PublicPlan.model_fields) & set(RunSettings.model_fields)
    wanted = settings.iterations if settings.iterations is not None else parts.method.iterations
    iterations = wanted if parts.method.iterations else 0
    strength = (settings.strength_start, settings.strength_step, settings.strength_floor)
    values = settings.model_dump(include=shared) | {
        "run_id": run_id,
        "run_seed": settings.seed,
        "labels": parts.data.labels,
        "iterations": iterations,
        "strengths": annealed(iterations, *strength),
        "width": settings.size or size.width,
        "height": settings.size or size.height,
        "batch": settings.batch if "batch" in parts.dialect.capabilities else 1,
        "epsilon": str(parts.limits.run),
        "noise": parts.mechanism.noise,
    }
    try:
        return PublicPlan(**values)
    except ValidationError as error:
        raise UsageError(first_fault(error)) from None


def _evolved(session: _Session, console: Console) -> tuple[Population, ...]:
    parts, plan, received = session.parts, session.plan, session.transcript.bodies.file
    generator = RemoteGenerator(plan, parts.dialect, session.gate, received)
    progress = RunProgress(plan, parts.method.name, console)
    with progress.shown():
        return tuple(
            evolve(plan, generator, parts.judge(plan, session.account, session.transcript), progress)
        )


def _finished(session: _Session, last: Population, started: float) -> dict[str, Any]:
    """Close the record and write what the run was for."""
    plan, transcript, folder = session.plan, session.transcript, session.folder
    session.gate.finish()
    lines = len(transcript.entries)
    release = Release(plan, session.parts.method, last, session.account.receipts(), transcript.head, lines)
    if not folder.finished:
        publish(folder.release, release, transcript.bodies.file)
    write_report(folder.root)
    summary = {
        "method": plan.method,
        "marks": marks(plan),
        "epsilon_budget": float(plan.epsilon_budget),
        "epsilon_spent": float(release.spent),
        "delta": plan.delta,
        "relation": plan.relation,
        "iterations": plan.iterations,
        "classes": len(plan.labels),
        "images_released": len(published_files(folder.release)),
        **transcript.counted(),
        "wall_seconds": round(time.monotonic() - started, 1),
        "dataset": str(folder.release),
        "report": str(folder.report),
    }
    save_summary(folder, summary)
    return summary


def save_summary(folder: RunFolder, summary: dict[str, Any]) -> None:
    """Write the figures of a run for programs."""
    write_durably(folder.summary, json.dumps(summary, indent=1).encode() + b"\n", 0o600)
