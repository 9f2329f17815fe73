"""A look at a private folder before any run: read image by image, so that none is kept; nothing is sent or spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from pcevolve.errors import DataError
from pcevolve.keeper.private.listing import Listing, shorten
from pcevolve.public.media.images.files import RejectedImageError, examine
from pcevolve.public.media.images.levels import Seen, Window, find_folder_fault

if TYPE_CHECKING:
    from pcevolve.public.media.images.likeness import Sketch

MOST_COMPARED = 20_000
"""Images of which each is compared with all others; more would take minutes."""
MOST_TURNED = 3000
"""Images of which each is compared with all others turned, mirrored, cut and rotated; more would take minutes."""
MOST_PAIRS = 1000
"""Pairs that are kept; a folder with more has a fault that one pair shows as well."""

Pair = tuple[int, int]
"""Two images, by their places in the listing."""


@dataclass(frozen=True, repr=False)
class Inspection:
    """The findings; private.

    Attributes:
        sizes: Pixels of each image that could be read, width and height, as it is kept.
        faults: Images that a run would refuse, each with what to do.
        alike: Pairs of different units that look the same, and are not twins.
        compared: Whether such pairs were looked for.
        turned: Whether they were looked for among turned, mirrored, cut and rotated images too.
        seen: Between which values images lie and by what they are shown, those included that are refused for that.
        flat: Images that show next to nothing, by their places in the listing.
    """

    listing: Listing
    sizes: tuple[tuple[int, int], ...]
    faults: tuple[str, ...]
    twins: tuple[Pair, ...]
    alike: tuple[Pair, ...]
    compared: bool
    turned: bool
    seen: tuple[Seen, ...]
    flat: tuple[int, ...]


def inspect(listing: Listing, tick: Callable[[], None], window: Window | None = None) -> Inspection:
    """Read every image of a listing once.

    Args:
        window: What is black and what is white in grey files; None for what each says itself.
    """
    from pcevolve.public.media.images.likeness import sketch  # SciPy takes long to load

    sizes: list[tuple[int, int]] = []
    faults: list[str] = []
    twins: list[Pair] = []
    seen: list[Seen] = []
    flat: list[int] = []
    first: dict[bytes, int] = {}
    sketches: dict[int, Sketch] = {}
    for place, file in enumerate(listing.files):
        try:
            found = examine(file, window)
        except (RejectedImageError, DataError) as error:
            faults.append(f"{shorten(file)} {error}")
            seen += [error.seen] if isinstance(error, RejectedImageError) and error.seen else []
        else:
            sizes.append(found.image.size)
            seen.append(found.seen)
            flat += [place] if found.seen.is_flat else []
            if first.setdefault(found.digest, place) == place:
                sketches[place] = sketch(found.image)
            else:
                twins.append((first[found.digest], place))
        tick()
    # Only without another fault: a folder of unreadable images has no contrast to speak of.
    if not faults and (fault := find_folder_fault(seen)):
        faults.append(fault)
    compared = len(sketches) <= MOST_COMPARED
    near = _of_different_units(sketches, listing.unit_keys) if compared else ()
    pairs, turned = tuple(twins[:MOST_PAIRS]), len(sketches) <= MOST_TURNED
    return Inspection(
        listing, tuple(sizes), tuple(faults), pairs, near, compared, turned, tuple(seen), tuple(flat)
    )


def _of_different_units(sketches: dict[int, Sketch], units: Sequence[str]) -> tuple[Pair, ...]:
    """Pairs that look the same, where that matters: two units count as two whoever they show."""
    from pcevolve.public.media.images.likeness import find_alike, find_turned

    places, found = list(sketches), dict[Pair, None]()
    of = [units[place] for place in places]
    turned = find_turned([*sketches.values()], of) if len(places) <= MOST_TURNED else ()
    for one, other in chain(find_alike([*sketches.values()]), turned):
        if of[one] != of[other]:
            found[places[one], places[other]] = None
        if len(found) == MOST_PAIRS:
            break
    return tuple(found)
