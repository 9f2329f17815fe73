"""The page about a run that is under way, made again from its record whenever that has grown.

It says how far the run is and what is spent, and shows the newest images and what crossed the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from pcevolve.dp.accountants import epsilon
from pcevolve.pages import PagePicture, base_style, compile_page, inline, own_file, picture, size
from pcevolve.pages.reasons import Reasons
from pcevolve.privacy import Event
from pcevolve.public.calls import goes_to_rewriter
from pcevolve.public.figures import format_loss
from pcevolve.public.plan import PublicPlan
from pcevolve.publish import list_marks
from pcevolve.transcript import RunReader
from pcevolve.transcript.traffic import ALL_KINDS, Counts

SHOWN = 12
"""Images of each class."""
LOOK = "what the private images look like on the whole"
CLASSES = 20
"""Classes of which images are shown."""


@dataclass(frozen=True)
class Standing:
    """The state of a run besides its record; public, and the provider could tell as much.

    Attributes:
        left: About how long the rest takes, in words; empty while nobody can say.
        cost: What it has cost so far, in words; empty where the API does not say.
        over: How it ended, in words; empty while it goes on.
    """

    left: str = ""
    cost: str = ""
    over: str = ""


@dataclass(frozen=True)
class Sheet:
    """One class: its newest images or texts."""

    label: str
    pictures: tuple[PagePicture, ...]


@dataclass(frozen=True)
class Release:
    """The figures of one receipt, in words."""

    iteration: int
    what: str
    mechanisms: str
    spent: str


def rendered_live(run: RunReader, standing: Standing) -> bytes:
    """The page's HTML; every string from the run is escaped, and pictures are encoded anew.

    Args:
        run: The record as far as it goes; of a run that has no plan yet, the page says so.
        standing: What is known besides.
    """
    content = {
        "style": inline(base_style(), own_file("live.css")),
        "script": inline(own_file("live.js")),
        "standing": standing,
        "report": str(run.layout.report) if standing.over else "",
        **(_waiting_content(run) if run.plan is None else _under_way(run, run.plan)),
    }
    kind = "image" if run.plan is None else run.plan.modality.kind
    return compile_page("live", kind, bytes=size).render(content).encode()


def _waiting_content(run: RunReader) -> dict[str, object]:
    return {"plan": None, "run": run.layout.root.name}


def _under_way(run: RunReader, plan: PublicPlan) -> dict[str, object]:
    """All that is shown of a run that has a plan."""
    pictured = max((plan.calls[slot].iteration for slot in run.outputs if slot in plan.calls), default=0)
    iteration = under_way(pictured, (receipt.iteration for receipt in run.receipts))
    done = sum(len(outputs) for slot, outputs in run.outputs.items() if not goes_to_rewriter(slot))
    reasons = Reasons.of(run.traffic)
    counts = Counts.by_kind(run.traffic.attempts, reasons.counts)
    events = [event for receipt in run.receipts for event in receipt.events]
    spent = epsilon(events, plan.delta)
    return {
        "plan": plan,
        "run": run.layout.root.name,
        "host": urlsplit(plan.api).netloc,
        "marks": list_marks(plan),
        "iteration": min(iteration, plan.iterations),
        "done": done,
        "total": sum(call.brings for call in plan.calls.values()),
        "spent": spent if plan.secure else None,
        "spent_text": format_loss(spent),
        "budget": float(plan.budget.epsilon),
        "releases": list(_releases(run, plan)),
        "kinds": {kind: counts[kind] for kind in ALL_KINDS if kind in counts},
        "total_counts": reasons.counts(run.traffic.attempts),
        "sheets": list(_sheets(run, plan, pictured)),
    }


def under_way(pictured: int, released: Iterable[int]) -> int:
    """The iteration that a run is in: the release that begins one comes before its first image.

    Args:
        pictured: The latest iteration that images are there of.
        released: Iterations of the releases so far.
    """
    return max(pictured, *released, 0)


def _releases(run: RunReader, plan: PublicPlan) -> Iterator[Release]:
    """The receipts, the newest first."""
    events: list[Event] = []
    rows = []
    for receipt in run.receipts:
        events.extend(receipt.events)
        named = sum(len(choice.chosen) for choice in receipt.choices)
        paid = [event for event in receipt.events if not event.free]
        mechanisms = (
            ", ".join(dict.fromkeys(event.mechanism for event in paid))
            or "none: it follows from earlier ones"
        )
        what = f"{named} {plan.modality.kind}s chosen" if receipt.iteration else LOOK
        spent = format_loss(epsilon(events, plan.delta)) if plan.secure else "INSECURE"
        rows.append(Release(receipt.iteration, what, mechanisms, spent))
    return reversed(rows)


def _sheets(run: RunReader, plan: PublicPlan, iteration: int) -> Iterator[Sheet]:
    """The newest images of each class, as they came."""
    for label in plan.labels[:CLASSES]:
        slots = [call.slot for call in plan.round(iteration) if call.label == label]
        digests = [digest for slot in slots for digest in run.outputs.get(slot, ())]
        yield Sheet(
            label, tuple(picture(plan.modality.kind, run.bodies.file(each)) for each in digests[-SHOWN:])
        )
