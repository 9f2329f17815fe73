"""The first outputs of each class, shown to whoever sits at the terminal; the provider made them."""

from __future__ import annotations

from rich.console import Console
from rich_pixels import Pixels

from pcevolve.public.media import find_medium
from pcevolve.public.media.images.sheet import draw_strip
from pcevolve.public.pages.live import list_opening
from pcevolve.public.plan import PublicPlan
from pcevolve.public.transcript.reader import RunReader
from pcevolve.public.words import summarise_prompts

MOST = 4
"""Of a class in a terminal, where half a character is a pixel and a text has a line."""


def show_first(record: RunReader, plan: PublicPlan, console: Console) -> None:
    """Show some of each class of the first that a provider made: a row of small pictures, or a few lines of text.

    Pictures are shown where a terminal has the colours for them.
    """
    has_colours = console.color_system in ("256", "truecolor")
    if not has_colours and not plan.modality.refuses_sheets:
        return
    for label, digests in list_opening(record, plan).items():
        console.print(summarise_prompts(plan.first_prompts(label)), markup=False)
        first = [record.bodies.file(each) for each in digests[:MOST]]
        if plan.modality.refuses_sheets:
            for each in first:
                text = find_medium(plan.modality.kind).show(each).text or f"(not {plan.modality.nouns.an})"
                console.print(f"  {text}", markup=False, highlight=False, no_wrap=True, overflow="ellipsis")
        else:
            console.print(Pixels.from_image(draw_strip(first, MOST, console.width)))
