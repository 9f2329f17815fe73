"""The first screen of a finished run's report."""

from __future__ import annotations

from pathlib import Path

from pcevolve.public.pages.reasons import TrafficTable
from pcevolve.public.pages.report.brief import Brief
from pcevolve.public.privacy import Event
from pcevolve.public.transcript.reader import RunReader
from support.runs import replace_settings

PAID = [Event("gaussian", "2")]


def brief_of(root: Path, events: list[Event] | None = None, **changes: object) -> Brief:
    run = RunReader.strict(root)
    plan = replace_settings(run.require_plan(), changes)
    traffic = TrafficTable.of(run.traffic, plan)
    paid = [event for receipt in run.receipts for event in receipt.events] if events is None else events
    return Brief.of(plan, paid, traffic, run.traffic.attempts)
