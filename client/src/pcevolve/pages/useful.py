"""The owner's page about whether a dataset is useful: what judges measured on held-out data, which nothing protects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcevolve.durable import write_private_bytes
from pcevolve.pages.rendering import PagePicture, compile_page, inline_parts, read_own, read_style
from pcevolve.public.modality import Kind

BAR = 280.0
"""Width of an accuracy of 1."""


@dataclass(frozen=True)
class Pair:
    """An image of the dataset, and the private image that is nearest to it."""

    made: PagePicture
    private: PagePicture


@dataclass(frozen=True)
class Confusion:
    """How often a judge that was trained on the dataset says each class of each, all its seeds together."""

    judge: str
    labels: Sequence[str]
    counts: Sequence[Sequence[int]]


def write_use_page(
    page: Path,
    run: str,
    kind: Kind,
    measured: Mapping[str, Any],
    chance: float,
    confusion: Confusion | None = None,
    pairs: Mapping[str, Sequence[Pair]] | None = None,
) -> Path:
    """Write the page beside the owner's figures; one that is there is replaced.

    Args:
        run: The name of the run's folder.
        measured: Word, sentence, advice, judges and accuracies, each with its interval.
        pairs: Of each class some images of the dataset.
    """
    content = {
        "style": inline_parts(read_style(), read_own("comparison.css")),
        "run": run,
        "measured": measured,
        "rows": [("chance", (chance, chance, chance)), *measured["accuracies"].items()],
        "confusion": confusion,
        "pairs": pairs or {},
        "bar": BAR,
    }
    write_private_bytes(page, compile_page("useful", kind).render(content).encode())
    return page
