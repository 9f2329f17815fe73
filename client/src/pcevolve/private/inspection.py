"""A look at a private folder before any run: read image by image, so that none is kept; nothing is sent or spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pcevolve.errors import DataError
from pcevolve.modality.images.files import RejectedImageError, read_image
from pcevolve.modality.images.likeness import Sketch, alike, sketch
from pcevolve.private.listing import Listing, short

MOST_COMPARED = 20_000
"""Images of which each is compared with all others; more would take minutes."""
MOST_PAIRS = 1000
"""Pairs that are kept; a folder with more has a fault that one pair shows as well."""

Pair = tuple[int, int]
"""Two images, by their places in the listing."""


@dataclass(frozen=True, repr=False)
class Inspection:
    """What was found; private.

    Attributes:
        listing: The images by name.
        units: What the privacy unit of each image is called.
        sizes: Pixels of each image that could be read, width and height, as it is kept.
        faults: Images that a run would refuse, each with what to do.
        twins: Pairs with the same pixels; a run would refuse them.
        alike: Pairs of different units that look the same, and are not twins.
        compared: Whether images were looked at for that; very large folders are not.
    """

    listing: Listing
    units: Sequence[str]
    sizes: tuple[tuple[int, int], ...]
    faults: tuple[str, ...]
    twins: tuple[Pair, ...]
    alike: tuple[Pair, ...]
    compared: bool

    def __repr__(self) -> str:
        return "Inspection"


def inspected(listing: Listing, units: Sequence[str], tick: Callable[[], None]) -> Inspection:
    """Read every image of a listing once.

    Args:
        listing: Names them.
        units: What the privacy unit of each image is called.
        tick: Called after each image.
    """
    sizes: list[tuple[int, int]] = []
    faults: list[str] = []
    twins: list[Pair] = []
    first: dict[bytes, int] = {}
    sketches: dict[int, Sketch] = {}
    for place, file in enumerate(listing.files):
        try:
            image, digest = read_image(file)
        except (RejectedImageError, DataError) as error:
            faults.append(f"{short(file)} {error}")
        else:
            sizes.append(image.size)
            if first.setdefault(digest, place) == place:
                sketches[place] = sketch(image)
            else:
                twins.append((first[digest], place))
        tick()
    compared = len(sketches) <= MOST_COMPARED
    near = _of_different_units(sketches, units) if compared else ()
    return Inspection(listing, units, tuple(sizes), tuple(faults), tuple(twins[:MOST_PAIRS]), near, compared)


def _of_different_units(sketches: dict[int, Sketch], units: Sequence[str]) -> tuple[Pair, ...]:
    """Pairs that look the same, where that matters: two units count as two whoever they show."""
    places, found = list(sketches), []
    for one, other in alike(list(sketches.values())):
        pair = places[one], places[other]
        if units[pair[0]] != units[pair[1]]:
            found.append(pair)
        if len(found) == MOST_PAIRS:
            break
    return tuple(found)
