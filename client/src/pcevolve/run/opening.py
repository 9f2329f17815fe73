"""The first images of a run, for a person to look at before anything is spent: on a page, and in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich_pixels import Pixels

from pcevolve.egress.gate import Gate
from pcevolve.modality.images.thumbnails import strip
from pcevolve.modality.texts.reading import read
from pcevolve.pages.preview import opening_images, write_preview
from pcevolve.public.plan import PublicPlan
from pcevolve.public.wordings import shown
from pcevolve.run.folder import RunFolder
from pcevolve.transcript import RunReader

ACROSS = 4
"""Images of a class in a terminal, where half a character is a pixel."""


def show_opening(gate: Gate, plan: PublicPlan, folder: RunFolder, console: Console) -> None:
    """Ask for the plan's first images, unless they are on record, and show them; nothing private has a part in it.

    Args:
        gate: Has begun with the plan.
        plan: Says which images come first; for one that does not, nothing is shown.
        folder: Gets the page.
        console: Shows pictures, if it is a terminal, and says where the page is.

    Raises:
        ProviderError: No usable answer.
    """
    if not plan.opening:
        return
    kind = plan.modality.kind
    with console.status(f"asking the provider for a few {kind}s of each class") as said:
        for call in plan.opening:
            said.update(f"asking the provider for a few {kind}s of each class: {call.label}")
            gate.create(call)
    record = RunReader.strict(folder.root)
    page = write_preview(record)
    if kind == "text":
        _print_lines(record, plan, console)
    elif console.color_system in ("256", "truecolor"):
        _print_strips(record, plan, console)
    console.print(f"what the provider makes of these words: {page} (nothing was spent)")


def _print_strips(record: RunReader, plan: PublicPlan, console: Console) -> None:
    """A row of small pictures for each class."""
    for label, digests in opening_images(record, plan).items():
        row = strip([record.bodies.file(each) for each in digests[:ACROSS]], ACROSS, console.width)
        console.print(shown(plan.first_prompts(label)))
        console.print(Pixels.from_image(row))


def _print_lines(record: RunReader, plan: PublicPlan, console: Console) -> None:
    """A few texts of each class."""
    for label, digests in opening_images(record, plan).items():
        console.print(shown(plan.first_prompts(label)), markup=False)
        for each in digests[:ACROSS]:
            said = read(record.bodies.file(each)) or "(not a text)"
            console.print(f"  {said}", markup=False, highlight=False, no_wrap=True, overflow="ellipsis")
