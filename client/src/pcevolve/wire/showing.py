"""The first images or texts of each class, shown to whoever sits at the terminal; the provider made them."""

from __future__ import annotations

from rich.console import Console
from rich_pixels import Pixels

from pcevolve.public.media.images.sheet import draw_strip
from pcevolve.public.media.texts import read_text
from pcevolve.public.pages.live import list_opening
from pcevolve.public.plan import PublicPlan
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.words import summarise_prompts

ACROSS = 4
"""Images of a class in a terminal, where half a character is a pixel."""
MOST = 4
"""Texts of a class in a terminal."""


def show_first(record: RunReader, plan: PublicPlan, console: Console) -> None:
    """Show some of each class of the first that a provider made."""
    show = _show_texts if plan.modality.kind == "text" else _show_images
    show(record, plan, console)


def _show_images(record: RunReader, plan: PublicPlan, console: Console) -> None:
    """Print a row of small pictures for each class, where a terminal has the colours for them."""
    if console.color_system not in ("256", "truecolor"):
        return
    for label, digests in list_opening(record, plan).items():
        row = draw_strip([record.bodies.file(each) for each in digests[:ACROSS]], ACROSS, console.width)
        console.print(summarise_prompts(plan.first_prompts(label)))
        console.print(Pixels.from_image(row))


def _show_texts(record: RunReader, plan: PublicPlan, console: Console) -> None:
    """Print a few texts of each class, a line each."""
    for label, digests in list_opening(record, plan).items():
        console.print(summarise_prompts(plan.first_prompts(label)), markup=False)
        for each in digests[:MOST]:
            said = read_text(record.bodies.file(each)) or "(not a text)"
            console.print(f"  {said}", markup=False, highlight=False, no_wrap=True, overflow="ellipsis")
