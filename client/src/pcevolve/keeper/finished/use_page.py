"""The owner's page on a dataset's usefulness: figures, confusions and examples, all of them private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pcevolve.keeper.evaluation.judge import Evaluator, LabelledSet, find_usable
from pcevolve.public.durable import write_private_bytes
from pcevolve.public.media import Item
from pcevolve.public.modality import Kind
from pcevolve.public.pages.rendering import (
    PagePicture,
    compile_page,
    inline_parts,
    picture_item,
    read_own,
    read_style,
)

ORDER = ("words alone", "a random choice", "dataset", "private images")
"""Order of the yardsticks, from the cheapest to the one that protects nobody."""
BAR = 280.0
"""Width of the bar for an accuracy of 1, in pixels."""


@dataclass(frozen=True)
class Pair:
    """An image of the dataset, and the private image nearest to it."""

    made: PagePicture
    private: PagePicture


@dataclass(frozen=True)
class Confusion:
    """Confusion counts of a judge that was trained on the dataset, summed over the judge's seeds."""

    judge: str
    labels: Sequence[str]
    counts: Sequence[Sequence[int]]

    @property
    def rows(self) -> list[tuple[str, list[tuple[int, int]]]]:
        """Return the counts of each class; beside each count is its share of the class's total, in tenths."""
        return [
            (label, [(count, round(10 * count / max(sum(counts), 1))) for count in counts])
            for label, counts in zip(self.labels, self.counts, strict=True)
        ]


def list_accuracies(measured: Mapping[str, Any], chance: float) -> list[tuple[str, Sequence[float]]]:
    """List the dataset and every yardstick with mean and interval; chance has no interval.

    The order is fixed here, because JSON does not keep the order of stored figures.
    """
    found = measured["accuracies"]
    return [("chance", (chance, chance, chance)), *((name, found[name]) for name in ORDER if name in found)]


def write_use_page(
    page: Path,
    run: str,
    kind: Kind,
    measured: Mapping[str, Any],
    chance: float,
    confusion: Confusion | None = None,
    pairs: Mapping[str, Sequence[Pair]] | None = None,
) -> Path:
    """Write the page beside the owner's figures; an existing page is replaced.

    Args:
        run: Name of the run's folder.
        measured: Verdict, sentence, advice, judges and accuracies, each with its interval.
        pairs: For each class, some images of the dataset with their nearest private images.
    """
    content = {
        "style": inline_parts(read_style(), read_own("comparison.css"), read_own("useful.css")),
        "run": run,
        "measured": measured,
        "rows": list_accuracies(measured, chance),
        "confusion": confusion,
        "pairs": pairs or {},
        "bar": BAR,
    }
    write_private_bytes(page, compile_page("useful", kind).render(content).encode())
    return page


SHOWN = 8
"""Number of images of each class on the page."""


def make_page(
    page: Path,
    run: str,
    kind: Kind,
    measured: Mapping[str, Any],
    confusion: Confusion,
    judge: Evaluator,
    made: LabelledSet,
    private: Sequence[Item | None],
) -> Path:
    """Write the page with images of the dataset.

    Beside each is the private image that is nearest in the judge's features.
    """
    pairs = pair_images(kind, confusion.labels, judge, made, private) if private else {}
    return write_use_page(page, run, kind, measured, 1 / len(confusion.labels), confusion, pairs)


def pair_images(
    kind: Kind, labels: Sequence[str], judge: Evaluator, made: LabelledSet, private: Sequence[Item | None]
) -> dict[str, list[Pair]]:
    """Pair some images of each class of a dataset, each with the private image nearest to it."""
    images, targets = made
    own = judge.look(private).reshape(len(private), -1)
    usable = np.flatnonzero(find_usable(own))
    pairs: dict[str, list[Pair]] = {}
    for target, label in enumerate(labels):
        shown = [images[place] for place in np.flatnonzero(np.asarray(targets) == target)[:SHOWN]]
        seen = np.nan_to_num(judge.look(shown).reshape(len(shown), -1))
        near = [usable[np.square(own[usable] - each).sum(axis=1).argmin()] for each in seen]
        pairs[label] = [
            Pair(picture_item(kind, one), picture_item(kind, private[place]))
            for one, place in zip(shown, near, strict=True)
        ]
    return pairs
