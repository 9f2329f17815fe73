"""The figures of a finished run for programs: a function of its transcript, so that whoever has it can check them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt
from pcevolve.publish.dataset import guarantee, marks
from pcevolve.transcript.bodies import write_durably
from pcevolve.transcript.log import Entry, counted

SUMMARY = "summary.json"


def summary(
    plan: PublicPlan, receipts: Sequence[Receipt], entries: Iterable[Entry], released: int
) -> dict[str, Any]:
    """What a run was, promised and sent.

    Args:
        plan: What was planned.
        receipts: What was paid for.
        entries: The whole transcript.
        released: Images in the dataset.
    """
    promised = {name: value for name, value in guarantee(plan, receipts).items() if name != "events"}
    return {
        "method": plan.method,
        "marks": marks(plan),
        **promised,
        "iterations": plan.iterations,
        "classes": len(plan.labels),
        "images_released": released,
        **counted(entries),
    }


def write_summary(
    root: Path, plan: PublicPlan, receipts: Sequence[Receipt], entries: Iterable[Entry]
) -> dict[str, Any]:
    """Write ``summary.json`` of a run whose release is there, and return what it says."""
    released = sum(1 for _ in (root / "release").glob("*/*.png"))
    values = summary(plan, receipts, entries, released)
    write_durably(root / SUMMARY, spelled(values))
    return values


def spelled(values: dict[str, Any]) -> bytes:
    """The one spelling of ``summary.json``."""
    return json.dumps(values, indent=1).encode() + b"\n"
