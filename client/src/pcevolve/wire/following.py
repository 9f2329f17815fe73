"""A run that starts from a release: it makes variations of the images that another run released.

The run reads no private data, uses no ledger and spends no budget. The plan names each image by its digest.
Before anything is sent, the images are checked to be those of the release. An audit that has the source run
checks this again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pcevolve.errors import StoppedError, UsageError
from pcevolve.public import selectors
from pcevolve.public.canonical import drop_unused, find_value
from pcevolve.public.config.declared import spell, validate
from pcevolve.public.config.runner import PublicConfig
from pcevolve.public.dialects import require
from pcevolve.public.fields import PLAN_FORMAT, PlanFields
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.loop.usability import Usability
from pcevolve.public.parts import Library
from pcevolve.public.plan import FROM_RELEASE, PublicPlan
from pcevolve.public.publish.promises import list_marks
from pcevolve.public.publish.source import KEPT, SourceRun
from pcevolve.public.release import Query, Receipt
from pcevolve.public.run.progress import Audience
from pcevolve.public.screen import Line, lay_out
from pcevolve.public.selectors.method import VARIES
from pcevolve.public.settings import UNKNOWN_LICENCE
from pcevolve.public.transcript.records import Opened
from pcevolve.wire.approval import approve
from pcevolve.wire.console import describe_plan, is_paid, spell_costs
from pcevolve.wire.execution import FINISHED, Session
from pcevolve.wire.reaching import ProviderConnection, RunnerJob, connect, greet, make_address, open_record
from pcevolve.wire.showing import keep_live_page


@dataclass(frozen=True)
class _NobodyAsked:
    """A judge for a run without releases."""

    def show(self, query: Query, pool: Pool) -> None:
        """Do nothing."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Raise an error, because such a run has no release."""
        raise AssertionError("a run that varies a release uses no private data")


def follow(job: RunnerJob, audience: Audience, begin: Callable[[], None]) -> dict[str, Any]:
    """Carry out a run that starts from a release, or the rest of one, in a claimed folder.

    Args:
        begin: Called to have the owner's options stored, after the owner agreed and before the plan is on
            record.

    Returns:
        The run's summary.

    Raises:
        ClientError: The reason for an early end; the run can be resumed.
    """
    started = time.monotonic()
    with (
        _open(job, audience, begin) as opened,
        keep_live_page(job.folder, opened.audience) as watched,
    ):
        session = replace(opened, audience=watched)
        session.show_opening()
        return session.finish(session.run_loop(), started)


def preview_following(job: RunnerJob, audience: Audience, begin: Callable[[], None]) -> None:
    """Begin a run that starts from a release, show its first variations, and stop."""
    with _open(job, audience, begin, only_look=True) as session:
        session.show_opening()


@contextmanager
def _open(
    job: RunnerJob, audience: Audience, begin: Callable[[], None], only_look: bool = False
) -> Iterator[Session]:
    """Greet the API, and fix the plan; a resumed run keeps the recorded plan."""
    settings, folder = job.settings, job.folder
    require(job.api_dialect.abilities, VARIES)
    address = make_address(settings.provider, job.key)
    try:
        with (
            open_record(folder) as transcript,
            connect(job, address, transcript, audience.console) as connection,
        ):
            begun, source = transcript.plan(), None
            first = transcript.entries[0].record if transcript.entries else None
            run_id = first.run_id if isinstance(first, Opened) else secrets.token_hex(16)
            if begun is None:
                source = SourceRun.at(Path(str(settings.data.from_run)))
                plan_run(source, settings, run_id, None)  # refused before the owner or the API is asked
            statement = greet(job, connection.gate, run_id)
            plan = begun
            if plan is None and source is not None:
                plan = plan_run(source, settings, run_id, statement.library)
                plan = plan.model_copy(update={"exact": statement.exact})
            assert plan is not None
            done = begun is not None and folder.finished
            audience.console.print(lay_out(FINISHED if done else _introduce(plan, settings, connection)))
            calls = plan.opening if only_look else plan.calls.values()
            approve(connection, calls, settings.provider.yes, person=audience.person)
            begin()
            for data in () if source is None else (each for of_class in source.files for each in of_class):
                transcript.bodies.keep(data)
            connection.gate.begin(plan, lambda receipt: False, lambda iteration: b"")
            usability = Usability(plan, transcript.bodies.file)
            yield Session(
                *(job, plan, transcript, connection, usability, audience),
                *(
                    begun is not None,
                    done,
                    "variations",
                    _NobodyAsked(),
                    lambda: "no privacy budget is spent",
                ),
                generator=connection.gate,
            )
    except KeyboardInterrupt:
        raise StoppedError(
            "stopped: a run that varies a release spends no privacy budget",
            f"to continue: {folder.resume_command}",
        ) from None


def plan_run(source: SourceRun, settings: PublicConfig, run_id: str, library: Library | None) -> PublicPlan:
    """Return the source's plan, changed to vary the source's release; ``UsageError`` for options out of bounds."""
    before, own = source.run.plan, settings.options()
    count, licence = settings.method.candidates, settings.output.licence
    given = settings.provider.model_fields_set
    values: dict[str, Any] = {}
    for path in KEPT:
        section, _, name = path.rpartition(".")
        (values.setdefault(section, {}) if section else values)[name] = find_value(before, path)
    values["provider"] |= {
        "seed": settings.provider.seed,
        "api": settings.provider.api,
        "batch": settings.provider.batch if "batch" in given else before.provider.batch,
        "at_once": settings.provider.at_once or before.provider.at_once,
        **{name: _choose_words(before, settings, name) for name in ("operator", "retention")},
    }
    values |= {
        "format": PLAN_FORMAT,
        "run_id": run_id,
        "method": {
            "name": FROM_RELEASE,
            "candidates": count,
            "initial": count,
            "iterations": 0,
            "min_usable": before.method.min_usable,
        },
        "library": library,
        "output": {"licence": before.output.licence if licence == UNKNOWN_LICENCE else licence},
        "start": source.describe(_choose_strength(before, own["strength_end"])),
    }
    values |= {name: values[name].model_dump() for name in ("data", "privacy")}
    return validate(PublicPlan, drop_unused(values, validate(PlanFields, values, PublicConfig)), PublicConfig)


def _choose_words(before: PublicPlan, settings: PublicConfig, name: str) -> str:
    """Return the given statements about the provider; by default the source's, if the provider is the same."""
    given: str = getattr(settings.provider, name)
    is_same = settings.provider.api == before.provider.api
    return given or (getattr(before.provider, name) if is_same else "")


def _choose_strength(before: PublicPlan, wanted: float | None) -> float | None:
    """Return the strength of all variations: the user's, else the source's last one; None if the API takes none."""
    if not before.modality.is_graded:
        if wanted is not None:
            raise UsageError(
                f"{spell('strength_end', PublicConfig)}: the API does not accept a strength: leave this "
                "option out"
            )
        return None
    if wanted is not None or before.start is not None:
        return wanted if wanted is not None or before.start is None else before.start.strength
    usual = selectors.find_method(before.method.name).degrees(before.modality)
    return before.method.strengths[-1] if before.method.strengths else usual.end


def _introduce(plan: PublicPlan, settings: PublicConfig, connection: ProviderConnection) -> Iterator[Line]:
    """Yield the facts to know before the run: what is varied, what is sent, and the cost."""
    start, nouns, meter = plan.start, plan.modality.nouns, connection.meter
    assert start is not None
    count = sum(map(len, start.images))
    yield (
        "starts from",
        f"{settings.data.from_run}: {nouns.count(count)}, manifest sha256 {start.manifest[:16]}…",
    )
    yield "server", f"{plan.provider.model} at {plan.provider.api}"
    yield from describe_plan(plan, [each for each in start.events if not each.free], meter.greetings)
    yield (
        "spends",
        f"nothing, because no private {nouns.one} is read; the epsilon above is that of the release",
    )
    if is_paid(meter):
        yield "cost", spell_costs(plan, meter)
    for mark in list_marks(plan):
        yield "WARNING", mark
