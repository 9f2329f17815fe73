"""The page with what a provider sent first, for a person to look at before anything is spent.

For each class: its prompt, its first images, and what to do if they are of another domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pcevolve.durable import write_durably
from pcevolve.pages import PagePicture, base_style, compile_page, inline, own_file, picture
from pcevolve.public.plan import PublicPlan
from pcevolve.public.words import summarise_prompts
from pcevolve.publish import list_marks
from pcevolve.transcript import RunReader


@dataclass(frozen=True)
class Sheet:
    """One class: its prompt and its first images.

    Attributes:
        label: Its name.
        prompt: What the provider was asked for.
        pictures: Of them.
    """

    label: str
    prompt: str
    pictures: tuple[PagePicture, ...]


def write_preview(run: RunReader) -> Path:
    """Write ``preview.html`` of a run whose first images are on record, and return where; every string is escaped.

    Raises:
        UsageError: The run has no plan yet.
        TranscriptError: A stored image is missing or was changed.
    """
    plan = run.require_plan()
    images = opening_images(run, plan)
    sheets = [
        Sheet(
            label,
            summarise_prompts(plan.first_prompts(label)),
            tuple(picture(plan.modality.kind, run.bodies.file(each)) for each in images[label]),
        )
        for label in plan.labels
    ]
    content = {
        "style": inline(base_style(), own_file("preview.css")),
        "plan": plan,
        "marks": list_marks(plan),
        "host": urlsplit(plan.api).netloc,
        "sheets": sheets,
    }
    write_durably(run.layout.preview, compile_page("preview", plan.modality.kind).render(content).encode())
    return run.layout.preview


def opening_images(run: RunReader, plan: PublicPlan) -> dict[str, tuple[str, ...]]:
    """Digests of the first images of each class, as far as they are on record."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(plan.labels, ())
    for call in (each for each in plan.opening if each.brings):
        found[call.label] += run.outputs.get(call.slot, ())
    return found
