"""Pages about a run in progress, made from its record so far.

``preview.html`` shows the provider's first images or texts, for a person to look at before any budget is spent.
The live page shows the run's progress and spending, the newest images, and the traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Template

from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.durable import write_durably
from pcevolve.public.figures import format_loss, spell_size
from pcevolve.public.modality import Kind
from pcevolve.public.pages.reasons import Reasons
from pcevolve.public.pages.rendering import (
    PagePicture,
    compile_page,
    inline_parts,
    make_picture,
    read_own,
    read_style,
)
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.publish.promises import list_events, list_marks
from pcevolve.public.transcript.bodies import Bodies
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.transcript.traffic import ALL_KINDS, Counts
from pcevolve.public.words import summarise_prompts

SHOWN = 12
"""Number of images per class; fewer if the page would have more than ``MOST_SHOWN`` in total."""
MOST_SHOWN = 60
LOOK = "the overall appearance of the private images"
CLASSES = 20
"""Largest number of classes that are shown with images."""


@dataclass(frozen=True)
class Standing:
    """The public state of a run that is not in its record. ``left`` is the estimated time left, empty if unknown."""

    left: str = ""
    cost: str = ""
    over: str = ""


@dataclass(frozen=True)
class LiveSheet:
    """Some images or texts of one class, and the prompt of the first of these."""

    label: str
    pictures: tuple[PagePicture, ...]
    prompt: str = ""


@dataclass(frozen=True)
class LiveRelease:
    """The figures of one receipt, in words."""

    iteration: int
    what: str
    mechanisms: str
    spent: str


def write_preview(run: RunReader, doubt: str = "") -> Path:
    """Write ``preview.html`` of a run whose first images are on record. Return its path. Every string is escaped.

    Args:
        doubt: A warning about these images; empty for none.

    Raises:
        UsageError: The run has no plan yet.
        TranscriptError: A stored image is missing or was changed.
    """
    plan = run.require_plan()
    sheets = [
        LiveSheet(label, _picture_all(run, plan, digests), summarise_prompts(plan.first_prompts(label)))
        for label, digests in list_opening(run, plan).items()
    ]
    content = {
        "style": inline_parts(read_style(), read_own("preview.css")),
        "plan": plan,
        "marks": [*list_marks(plan), *filter(None, [doubt])],
        "host": urlsplit(plan.provider.api).netloc,
        "sheets": sheets,
    }
    write_durably(run.layout.preview, compile_page("preview", plan.modality.kind).render(content).encode())
    return run.layout.preview


def list_opening(run: RunReader, plan: PublicPlan) -> dict[str, tuple[str, ...]]:
    """Return the digests of the first images of each class, as far as these are on record."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(plan.labels, ())
    for call in plan.opening:
        found[call.label] += run.outputs.get(call.slot, ())
    return found


def render_live(run: RunReader, standing: Standing) -> bytes:
    """Render the live page. Every string from the run is escaped, and pictures are encoded again.

    Raises:
        UsageError: The run has no plan yet.
    """
    plan = run.require_plan()
    content = {
        "style": inline_parts(read_style(), read_own("live.css")),
        "script": inline_parts(read_own("live.js")),
        "standing": standing,
        "report": run.layout.report.name if run.layout.report.is_file() else "",
        **_under_way(run, plan),
    }
    return compile_template(plan.modality.kind).render(content).encode()


def compile_template(kind: Kind = "image") -> Template:
    return compile_page("live", kind, bytes=spell_size)


def _under_way(run: RunReader, plan: PublicPlan) -> dict[str, object]:
    """Return the page's content for a run with a plan."""
    pictured = max((plan.calls[slot].iteration for slot in run.outputs if slot in plan.calls), default=0)
    # An iteration begins with a release, which comes before its first image.
    iteration = max(pictured, *(receipt.iteration for receipt in run.receipts), 0)
    done = sum(map(len, run.outputs.values()))
    reasons = Reasons.of(run.traffic)
    counts = Counts.by_kind(run.traffic.attempts, reasons.counts)
    budget, events = float(plan.budget.epsilon), list_events(plan, run.receipts)
    return {
        "plan": plan,
        "run": run.layout.root.name,
        "host": urlsplit(plan.provider.api).netloc,
        "marks": list_marks(plan),
        "iteration": min(iteration, plan.method.iterations),
        "done": done,
        "total": sum(call.count for call in plan.calls.values()),
        # The bar shows the loss that --epsilon limits. The text begins with the loss of any unit in the folder.
        "spent": epsilon(events, plan.privacy.delta) if plan.secure else None,
        "spent_text": PrivacyLoss.of(plan, events).say(budget, symbol=""),
        "budget": budget,
        "releases": list(_releases(run, plan)),
        "kinds": {kind: counts[kind] for kind in ALL_KINDS if kind in counts},
        "total_counts": reasons.counts(run.traffic.attempts),
        "sheets": list(_sheets(run, plan, pictured)),
    }


def _releases(run: RunReader, plan: PublicPlan) -> Iterator[LiveRelease]:
    """Return the receipts, newest first."""
    events: list[Event] = []
    rows = []
    for receipt in run.receipts:
        events.extend(receipt.events)
        named = sum(len(choice.chosen) for choice in receipt.choices)
        paid = [event for event in receipt.events if not event.free]
        mechanisms = (
            ", ".join(dict.fromkeys(event.mechanism for event in paid))
            or "none (computed from earlier releases)"
        )
        what = f"{named} {plan.modality.nouns.many} chosen" if receipt.iteration else LOOK
        spent = format_loss(PrivacyLoss.of(plan, events).epsilon) if plan.secure else "INSECURE"
        rows.append(LiveRelease(receipt.iteration, what, mechanisms, spent))
    return reversed(rows)


def _sheets(run: RunReader, plan: PublicPlan, iteration: int) -> Iterator[LiveSheet]:
    """Yield the newest images of each class as received; if there are too few, add images of earlier rounds."""
    shown = min(SHOWN, MOST_SHOWN // min(len(plan.labels), CLASSES))
    for label in plan.labels[:CLASSES]:
        digests: tuple[str, ...] = ()
        for each in range(iteration, -1, -1):
            slots = (call.slot for call in plan.round(each) if call.label == label)
            digests = (*(digest for slot in slots for digest in run.outputs.get(slot, ())), *digests)
            if len(digests) >= shown:
                break
        pictures = (_picture(plan.modality.kind, run.bodies.folder, each) for each in digests[-shown:])
        yield LiveSheet(label, tuple(pictures))


@lru_cache(maxsize=2 * MOST_SHOWN)
def _picture(kind: Kind, folder: Path, digest: str) -> PagePicture:
    """Cache a picture of a stored answer. The page is rewritten often, and most of its pictures stay the same."""
    return make_picture(kind, Bodies(folder).file(digest))


def _picture_all(run: RunReader, plan: PublicPlan, digests: Sequence[str]) -> tuple[PagePicture, ...]:
    return tuple(make_picture(plan.modality.kind, run.bodies.file(each)) for each in digests)
