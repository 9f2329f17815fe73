"""The first images of a run, for a person to look at before any budget is spent: on a page and in the terminal."""

from __future__ import annotations

from rich.console import Console

from pcevolve.egress.allowance import Meter
from pcevolve.egress.gate import Gate
from pcevolve.evolution import Pool, Population
from pcevolve.pages.preview import write_preview
from pcevolve.public.plan import PublicPlan
from pcevolve.run.folder import RunFolder
from pcevolve.run.kinds import of_kind
from pcevolve.selectors.usability import Usability
from pcevolve.transcript import RunReader


def show_opening(
    gate: Gate, meter: Meter, plan: PublicPlan, folder: RunFolder, console: Console, usability: Usability
) -> None:
    """Ask for the plan's first images, unless they are on record, and show them; nothing private has a part in it.

    Args:
        gate: Has begun with the plan.
        meter: Knows what that cost.
        plan: Says which images come first.
        folder: Gets the page.
        console: Shows pictures, if it is a terminal, and says where the page is.
        usability: Says whether the images leave something to choose.

    Raises:
        ProviderError: No usable answer.
        UnusableError: Too few images can be used, or all are the same.
    """
    kind = plan.modality.kind
    shown: Population = dict.fromkeys(plan.labels, ())
    with console.status(f"asking the provider for a few {kind}s of each class") as said:
        for call in plan.opening:
            said.update(f"asking the provider for a few {kind}s of each class: {call.label}")
            shown = {**shown, call.label: shown[call.label] + gate.create(call)}
    record = RunReader.strict(folder.root)
    page = write_preview(record)
    of_kind(kind).showing.opening(record, plan, console)
    paid = any(not event.free for receipt in record.receipts for event in receipt.events)
    spent = "so far" if paid else "no privacy budget was spent"
    console.print(f"what the provider makes of these words: {page} ({spent}; {meter.bill()})")
    opened = Pool(shown)
    for note in usability.notes(opened):
        console.print(f"WARNING: {note}")
    usability.require(opened, f"{spent}; {meter.bill()}")
