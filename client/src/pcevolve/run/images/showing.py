"""Images in a terminal, and on a sheet."""

from __future__ import annotations

from rich.console import Console
from rich_pixels import Pixels

from pcevolve.modality.images.thumbnails import strip
from pcevolve.pages.preview import opening_images
from pcevolve.public.plan import PublicPlan
from pcevolve.public.wordings import shown
from pcevolve.transcript import RunReader

ACROSS = 4
"""Images of a class in a terminal, where half a character is a pixel."""


def opening(record: RunReader, plan: PublicPlan, console: Console) -> None:
    """Print a row of small pictures for each class, where a terminal has the colours for them."""
    if console.color_system not in ("256", "truecolor"):
        return
    for label, digests in opening_images(record, plan).items():
        row = strip([record.bodies.file(each) for each in digests[:ACROSS]], ACROSS, console.width)
        console.print(shown(plan.first_prompts(label)))
        console.print(Pixels.from_image(row))


def require_drawable(name: str) -> None:
    """Refuse nothing: images can be drawn on a sheet."""
