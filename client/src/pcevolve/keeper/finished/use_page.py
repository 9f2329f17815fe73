"""Make the owner's page on a dataset's use: figures, confusions, and examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pcevolve.keeper.evaluation.judge import Evaluator, LabelledSet, find_usable
from pcevolve.public.media import Item
from pcevolve.public.modality import Kind
from pcevolve.public.pages.rendering import picture_item
from pcevolve.public.pages.useful import Confusion, Pair, write_use_page

SHOWN = 8
"""Images of each class on the page."""


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
    """Write the page, with images of the dataset beside the private ones nearest to them in a judge's features."""
    pairs = pair_images(kind, confusion.labels, judge, made, private) if private else {}
    return write_use_page(page, run, kind, measured, 1 / len(confusion.labels), confusion, pairs)


def pair_images(
    kind: Kind, labels: Sequence[str], judge: Evaluator, made: LabelledSet, private: Sequence[Item | None]
) -> dict[str, list[Pair]]:
    """Pair some images of each class of a dataset with the nearest private one."""
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
