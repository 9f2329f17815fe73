"""Texts in a terminal."""

from __future__ import annotations

from rich.console import Console

from pcevolve.errors import UsageError
from pcevolve.modality.texts.reading import read
from pcevolve.pages.preview import opening_images
from pcevolve.public.plan import PublicPlan
from pcevolve.public.wordings import shown
from pcevolve.transcript import RunReader

MOST = 4
"""Texts of a class in a terminal."""


def opening(record: RunReader, plan: PublicPlan, console: Console) -> None:
    """Print a few texts of each class, a line each."""
    for label, digests in opening_images(record, plan).items():
        console.print(shown(plan.first_prompts(label)), markup=False)
        for each in digests[:MOST]:
            said = read(record.bodies.file(each)) or "(not a text)"
            console.print(f"  {said}", markup=False, highlight=False, no_wrap=True, overflow="ellipsis")


def require_drawable(name: str) -> None:
    """Refuse a sheet of pictures.

    Raises:
        UsageError: Always; there is another way to see texts.
    """
    raise UsageError(f"--sheet draws images, and {name} has texts: --html shows them side by side")
