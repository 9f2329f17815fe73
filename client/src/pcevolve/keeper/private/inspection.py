"""Inspect a private folder before any run, keeping one image at a time; nothing is sent or spent."""

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
"""Largest number of images among which all pairs are compared; more would take minutes."""
MOST_TURNED = 3000
"""Largest number of images that are also compared turned, mirrored, cropped and rotated."""
MOST_PAIRS = 1000
"""Largest number of pairs that are kept; further pairs would show no further kind of fault."""

Pair = tuple[int, int]
"""Two images, by their indices in the listing."""


@dataclass(frozen=True, repr=False)
class Inspection:
    """The findings of an inspection; private.

    Attributes:
        sizes: Width and height of each readable image, in pixels, after loading.
        faults: Images that a run would refuse, each with advice.
        twins: Pairs of images with equal pixels.
        alike: Pairs of different units that look the same but are not twins.
        compared: Whether look-alikes were searched for.
        turned: Whether turned, mirrored, cropped and rotated images were included.
        seen: Levels of the images and how they are shown, including images refused for lack of contrast.
        flat: Indices of images that show almost nothing.
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
        window: Values of black and white in grey files; None for each file's own.
    """
    from pcevolve.public.media.images.likeness import sketch  # SciPy takes a second to load

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
    # Only if there is no other fault: unreadable images say nothing about contrast.
    if not faults and (fault := find_folder_fault(seen)):
        faults.append(fault)
    compared = len(sketches) <= MOST_COMPARED
    near = _of_different_units(sketches, listing.unit_keys) if compared else ()
    pairs, turned = tuple(twins[:MOST_PAIRS]), len(sketches) <= MOST_TURNED
    return Inspection(
        listing, tuple(sizes), tuple(faults), pairs, near, compared, turned, tuple(seen), tuple(flat)
    )


def _of_different_units(sketches: dict[int, Sketch], units: Sequence[str]) -> tuple[Pair, ...]:
    """Return pairs of look-alikes in different units."""
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
