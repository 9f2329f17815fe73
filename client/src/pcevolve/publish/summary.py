"""The figures of a finished run for programs: a function of its transcript, so that whoever has it can check them."""

from __future__ import annotations

import json
from typing import Any

from pcevolve.durable import write_durably
from pcevolve.public.plan import PublicPlan
from pcevolve.public.usefulness import Assessment
from pcevolve.publish.promises import guarantee, marks
from pcevolve.selectors import method
from pcevolve.transcript.reader import RunReader
from pcevolve.transcript.traffic import Counts


def summary(run: RunReader, plan: PublicPlan, released: int) -> dict[str, Any]:
    """Summarise what a run was, promised and sent.

    Args:
        run: The whole record.
        plan: Its plan.
        released: Images in the dataset.
    """
    promised = guarantee(plan, method(plan.method), run.receipts)
    sent = Counts.of(run.traffic.attempts)
    return {
        "method": plan.method,
        **plan.modality.in_summary,
        "marks": marks(plan),
        **promised.model_dump(
            include={"epsilon_budget", "epsilon_spent", "epsilon_folder", "delta", "relation", "unit"}
        ),
        **_secrets(plan),
        "iterations": plan.iterations,
        "classes": len(plan.labels),
        "images_released": released,
        **({"images_added": sum(call.count for call in plan.enlargements())} if plan.extended else {}),
        "requests": sent.attempts,
        "bytes_sent": sent.bytes_sent,
        "bytes_received": sent.bytes_received,
        **({} if run.assessment is None else {"usefulness": _usefulness(run.assessment)}),
    }


def _secrets(plan: PublicPlan) -> dict[str, Any]:
    if plan.promised_secrecy is None:
        return {}
    return {"listed_secrets": plan.promised_secrecy.model_dump()}


def _usefulness(found: Assessment) -> dict[str, Any]:
    return {"word": found.word, **found.model_dump()}


def write_summary(run: RunReader) -> dict[str, Any]:
    """Write ``summary.json`` of a run whose release is there, and return what it says.

    Raises:
        UsageError: The run is unfinished.
    """
    values = summary(run, run.require_plan(), len(run.manifest().files))
    write_durably(run.layout.summary, encoded(values))
    return values


def encoded(values: dict[str, Any]) -> bytes:
    """The one spelling of ``summary.json``."""
    return json.dumps(values, indent=1).encode() + b"\n"
