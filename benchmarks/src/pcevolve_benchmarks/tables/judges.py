"""Judges of the tables, and held-out images as they see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pcevolve.keeper.finished.judging import load_judges
from pcevolve.keeper.private.dataset import load_folder
from pcevolve.public.encoders import Encoder, load_encoder
from pcevolve.public.encoders.loading import FrozenEncoder
from pcevolve.public.encoders.singly import to_array
from pcevolve.public.modality import Images
from pcevolve_benchmarks.heads import TableJudge, train_papers_head, with_papers_head
from pcevolve_benchmarks.tables.data import BenchData
from pcevolve_benchmarks.tables.wide import WIDE, make_wide_judge

AS_PUBLISHED: Final = "pcevolve:"
"""Before an encoder's name: its inputs are raw pixels, and its head takes features as they are.

The centre square of an image is what all judges see; the published code squeezes what is no square.
"""
_SIDES: Final = {"resnet": 256, "vit": 224, "inception": 299}
"""Pixels of a side, of each family of networks: what the published code resizes images to at most."""


def load_table_judges(names: Iterable[str], voter: str | None) -> list[TableJudge]:
    """Load judges, with the PCEvolve paper's head; those that did not vote come first.

    Args:
        names: As ``load_judges`` takes them, or an encoder's, with weights or without, behind ``pcevolve:``, or a wide
            network's, such as ``wrn-40-4``.
        voter: The encoder by which the run selected; None if it looked at nothing.

    Raises:
        UsageError: There is no such encoder or network.
        ModelError: Weights are not at hand.
    """
    asked = list(names)
    published = [_as_published(name, voter) for name in asked if name.startswith(AS_PUBLISHED)]
    wide = [make_wide_judge(name) for name in asked if name.startswith(WIDE)]
    others = [name for name in asked if not name.startswith((AS_PUBLISHED, WIDE))]
    usual = load_judges(others, voter, "auto") if others or not asked else []
    return sorted([*published, *wide, *map(with_papers_head, usual)], key=lambda each: each.voted)


def has_embeddings(name: str) -> bool:
    """True if a judge of this name sees embeddings, which have Fréchet distances, and no pixels."""
    return name != Images.independent_classifier and not name.startswith(WIDE)


def _as_published(name: str, voter: str | None) -> TableJudge:
    encoder, _, weights = name.removeprefix(AS_PUBLISHED).partition("=")
    look = _of_raw_pixels(load_encoder(encoder, weights or None, "auto")).embed
    return TableJudge(name, encoder == voter, look, partial(train_papers_head, as_published=True))


def _of_raw_pixels(encoder: Encoder) -> Encoder:
    """An encoder of pixels between 0 and 1, without the statistics of the images that its weights were trained on."""
    side = next((side for family, side in _SIDES.items() if encoder.name.startswith(family)), None)
    if side is None or not isinstance(encoder, FrozenEncoder):
        return encoder
    return replace(encoder, preprocess=to_array(side))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out images, at most so many of each class, and their classes."""

    labels: tuple[str, ...]
    images: Sequence[Any]
    targets: NDArray[np.int64]


@cache
def load_held_out(data: BenchData, most: int) -> HeldOut:
    """The first held-out images of each class, read once in the life of a process."""
    whole = load_folder(data.test, unique=False)
    kept = np.sort(np.concatenate(list(_first(whole.targets, len(whole.labels), most))))
    return HeldOut(whole.labels, [whole.items[place] for place in kept], whole.targets[kept])


def _first(targets: NDArray[np.int64], classes: int, most: int) -> Iterable[NDArray[np.int64]]:
    return (np.flatnonzero(targets == target)[:most] for target in range(classes))


@cache
def embed_held_out(judge: str, data: BenchData, most: int) -> NDArray[np.floating]:
    """Held-out images as a judge sees them."""
    (one,) = load_table_judges((judge,), None)
    return one.look(load_held_out(data, most).images)
