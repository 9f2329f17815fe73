"""A subsample of the private folder: K privacy units of each class, drawn by a secret seed. No image is opened.

A unit's place in the draw follows from the seed and from its name alone (a file's path, a patient's name), never from
pixels and never from what else lies in the folder. So whoever is not drawn has no part in the run at all, and of two
folders that differ in one unit the draws differ in that unit and in whoever moves up or down for it. What that means
for the guarantee is in docs/decisions/0022-subsample.md.
"""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Sequence
from typing import TypeVar

from pcevolve.private.listing import Listing

Value = TypeVar("Value")
SEED_BYTES = 8


def subsampled(listing: Listing, units: Sequence[str], count: int, seed: int) -> tuple[Listing, Listing]:
    """Draw units of each class.

    A unit that has images of several classes may be drawn for some of them; its other images are then left out of
    both parts, so that nobody is measured on a patient whose other images were used.

    Args:
        listing: All images.
        units: What each image's unit is called; an image's own name where every image is a unit.
        count: Units of each class, K; a class that has fewer gives all.
        seed: Secret, below 2**63.

    Returns:
        The images that were drawn, and all images of units that were not drawn for any class; in the listing's order.
    """
    drawn, rest = drawn_places(units, listing.targets, count, seed)
    return listing.subset(drawn), listing.subset(rest)


def drawn_places(
    units: Sequence[str], targets: Sequence[int], count: int, seed: int
) -> tuple[list[int], list[int]]:
    """Which of some images or texts are drawn, and which belong to units that are not; see ``subsampled``.

    Args:
        units: What the unit of each is called.
        targets: Index of the class of each.
        count: Units of each class.
        seed: Secret.

    Returns:
        Their places, in order.
    """
    pairs = sorted({(unit, target) for unit, target in zip(units, targets, strict=True)})
    turns = {unit: _turn(unit, seed) for unit in set(units)}
    drawn: set[tuple[str, int]] = set()
    for target in sorted(set(targets)):
        of_class = sorted((unit for unit, each in pairs if each == target), key=turns.__getitem__)
        drawn.update((unit, target) for unit in of_class[:count])
    taken = {unit for unit, _ in drawn}
    places = list(enumerate(zip(units, targets, strict=True)))
    return (
        [place for place, pair in places if pair in drawn],
        [place for place, (unit, _) in places if unit not in taken],
    )


def chosen(values: tuple[Value, ...], places: Sequence[int]) -> tuple[Value, ...]:
    """What is known of some images or texts; nothing where nothing is known of any."""
    return tuple(values[place] for place in places) if values else ()


def _turn(unit: str, seed: int) -> bytes:
    """When a unit's turn is, by the seed and its name alone: 32 bytes, uniform for whoever does not know the seed."""
    spelled = unicodedata.normalize("NFC", unit).encode("utf-8", "surrogateescape")
    return hmac.digest(seed.to_bytes(SEED_BYTES, "big"), spelled, "sha256")
