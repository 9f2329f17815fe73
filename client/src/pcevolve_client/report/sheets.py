"""Contact sheets: per class, a row of small pictures for each of a few iterations."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image

from ..pictures import picture
from ..plan import Call
from ..release import Candidate, Chosen, Receipt
from .records import RunRecords

ROWS = 6  # iterations per class, the first and the last among them
TILES_PER_ROW = 12
TILES = 500  # in the whole page; keeps it under 4 MB
SIDE = 96  # pixels; shown at 64, sharp on dense screens
JPEG_QUALITY = 80


@dataclass(frozen=True)
class Tile:
    """One candidate.

    Attributes:
        id: The candidate's.
        image: JPEG as a data URI; None when the provider sent something that is not an image.
        receipt: What allowed it to be sent back; None when it was not chosen.
    """

    id: str
    image: str | None
    receipt: Receipt | None = None


@dataclass(frozen=True)
class Row:
    """Some candidates of a class after an iteration; ``receipt`` names those chosen for the next one."""

    iteration: int
    strength: float | None
    tiles: tuple[Tile, ...]
    receipt: Receipt | None


@dataclass(frozen=True)
class Sheet:
    """One class over the run."""

    label: str
    prompt: str
    rows: tuple[Row, ...]


def contact_sheets(records: RunRecords) -> list[Sheet]:
    """Draw the sheets of as many classes as fit into the page.

    Raises:
        TranscriptError: A stored answer is missing or was changed.
    """
    plan = records.plan
    iterations = evenly(plan.iterations + 1, ROWS)
    per_row = max(4, min(TILES_PER_ROW, TILES // (len(iterations) * len(plan.labels))))
    labels = plan.labels[: TILES // (len(iterations) * per_row)]
    return [
        Sheet(label, plan.prompt(label), tuple(_row(records, t, label, per_row) for t in iterations))
        for label in labels
    ]


def evenly(count: int, wanted: int) -> list[int]:
    """At most ``wanted`` of ``range(count)``, evenly spread, the first and the last among them."""
    if count <= wanted:
        return list(range(count))
    return [round(place * (count - 1) / (wanted - 1)) for place in range(wanted)]


def thumbnail(data: bytes) -> str | None:
    """Make a small JPEG of received bytes; None for what is not an image within the wire's limits."""
    shown = picture(data)
    if shown is None:
        return None
    shown.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    shown.save(buffer, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def _row(records: RunRecords, iteration: int, label: str, per_row: int) -> Row:
    calls = [call for call in records.plan.round(iteration) if call.label == label]
    receipt = records.receipts.get((iteration + 1, label))
    chosen = _chosen(records, receipt, per_row)
    others = [tile for tile in _first(records, calls, per_row) if tile.id not in chosen]
    tiles = sorted([*chosen.values(), *others[: per_row - len(chosen)]], key=lambda tile: tile.id)
    return Row(iteration, calls[0].strength, tuple(tiles), receipt)


def _chosen(records: RunRecords, receipt: Receipt | None, limit: int) -> dict[str, Tile]:
    """The released prototypes, by the digests that were paid for."""
    named: Sequence[Chosen] = () if receipt is None else receipt.chosen[:limit]
    return {each.id: Tile(each.id, thumbnail(records.bodies.file(each.digest)), receipt) for each in named}


def _first(records: RunRecords, calls: Sequence[Call], count: int) -> list[Tile]:
    """The first candidates of a class, in the order of the plan."""
    named = [
        (Candidate.name(call, index), digest)
        for call in calls
        for index, digest in enumerate(records.outputs.get(call.slot, ()))
    ]
    return [Tile(name, thumbnail(records.bodies.file(digest))) for name, digest in named[:count]]
