"""A selector's input and its two steps: one access to the private data, then a public choice.

Contributions of privacy units are bounded here, once for all selectors. Their sizes are multiples of 2**-30, so sums
of them are exact in float64 and no order of summation, and no other image, can change what an image adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pcevolve.public.dp.mechanisms import FloatArray, Noise
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.geometry.distances import Embeddings, IntArray
from pcevolve.public.geometry.frame import Frame
from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.methods import TAU, VOTES
from pcevolve.public.privacy import Event, Events, Relation

Measurement = Mapping[str, NDArray[Any]]
"""What one access released, by name: noisy numbers (float64) or drawn indices (int64); public once it is paid for."""

GRID = 2.0**30


@dataclass(frozen=True, repr=False, eq=False)
class PrivateEmbeddings:
    """Embeddings of the private images, with classes and units. Everything here is private, their number included.

    Attributes:
        embeddings: Finite ``(images, d)``.
        targets: int64 ``(images,)``: indices of their classes.
        units: int64 ``(images,)``: equal numbers are one privacy unit.
        caps: float64 ``(images,)`` in [0, 1]: what the secrets that each holds leave it of a vote; None for all of it.
    """

    embeddings: Embeddings
    targets: IntArray
    units: IntArray
    caps: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.embeddings)

    @cached_property
    def shares(self) -> FloatArray:
        """Each image's share, so that a unit's images add 1 in all, float64 ``(images,)``."""
        return unit_shares(self.units)

    @property
    def capped(self) -> FloatArray:
        """The remaining part of each image's vote, float64 ``(images,)``."""
        return np.ones(len(self)) if self.caps is None else round_down(self.caps)

    def norm_shares(self, votes: IntArray) -> FloatArray:
        """Return the weight of each image's votes that bounds the L2 norm of a unit's vector of votes by 1.

        Args:
            votes: int64 ``(images, q)``: the entries, of a vector over all classes, that each image votes for.

        Returns:
            float64 ``(images,)``: one over the norm of the unit's whole votes; 1 for a unit of one image and one vote.
        """
        # Counted exactly, in whole numbers, and the root rounded down: a norm
        # of 1 plus a rounding error is above the bound.
        _, unit = np.unique(self.units, return_inverse=True)
        voters = np.repeat(unit, votes.shape[1])
        pairs, counts = np.unique(np.stack([voters, votes.ravel()]), axis=1, return_counts=True)
        squares = np.bincount(pairs[0], weights=np.square(counts))
        return round_down(1.0 / np.sqrt(squares))[unit]


@dataclass(frozen=True, eq=False)
class SelectionInput:
    """One round's question; all of it is public.

    Attributes:
        pools: Of each class, the candidates' embeddings, float64 ``(candidates, d)``; rows that are not finite
            are candidates that cannot be used.
        wanted: How many candidates of each class to choose.
        iteration: From 1; one more than ``iterations`` for the choice of the dataset.
        relation: Neighbour relation under which the events' parameters hold.
        threshold: H, subtracted from noisy votes.
        drawn: Whether a selector that keeps the best draws by its votes instead.
        frame: Public frame for class means; None where candidates have a say in it.
        public: What the encoder knows of public images, to be joined with the candidates; None if it has no say.
        votes: How many of its nearest candidates an image votes for, q.
        tau: τ of PCEvolve's similarity calibrator.
        cells: Most cells of each class; None for one around every first candidate.
        first: How many candidates of each class were the first; None if all are.
    """

    labels: tuple[str, ...]
    pools: tuple[FloatArray, ...]
    wanted: int
    shots: int
    iteration: int
    iterations: int
    seed: int
    relation: Relation
    threshold: float = 0.0
    frame: Frame | None = None
    public: PublicFrame | None = None
    votes: int = VOTES
    tau: float = TAU
    cells: int | None = None
    first: int | None = None
    drawn: bool = False

    def first_of(self, target: int) -> FloatArray:
        """Embeddings of the first candidates of a class."""
        return self.pools[target][: self.first]

    def ruler(self, measured: Measurement) -> Ruler:
        """How distances of these candidates are compared, after a measurement."""
        arrays = (measured[name].tobytes() for name in sorted(measured))
        return Ruler.of(self.pools, b"".join([self.key.encode(), *arrays]))

    @cached_property
    def coordinates(self) -> Frame:
        """The frame in which means are released: as given, or the candidates', joined with public images' or not."""
        if self.frame is not None:
            return self.frame
        return self._find_frame()

    def with_recorded_frame(self, centre: FloatArray, axes: FloatArray) -> Self:
        """Return the scene in a frame with this centre and these axes, which another machine may have rounded."""
        if self.coordinates.equals(centre, axes):
            return self
        return replace(self, frame=self._find_frame((centre, axes)))

    def _find_frame(self, recorded: tuple[FloatArray, FloatArray] | None = None) -> Frame:
        candidates = np.concatenate(self.pools)
        if self.public is None:
            return Frame.of(candidates, recorded=recorded)
        return Frame.join(self.public, candidates, recorded=recorded)

    @property
    def key(self) -> str:
        """Public name of the round, for the noise's keys."""
        return f"{self.iteration:04d}"

    def entrants(self, target: int) -> IntArray:
        """Candidates of a class that can be used; all of them if none can. Looks at no private data."""
        usable = np.flatnonzero(np.isfinite(self.pools[target]).all(axis=1))
        return usable if len(usable) else np.arange(len(self.pools[target]))

    def random(self, *purpose: int) -> np.random.Generator:
        """Public randomness for one purpose."""
        return np.random.default_rng([self.seed, *purpose])


Point = tuple[float, float]


@dataclass(frozen=True)
class WorstCase:
    """Two datasets in a plane that differ in one unit, close to the worst case for a selector.

    Attributes:
        pools: For each of two classes, the points of its candidates; of equally many.
        common: Class and point of the units, of one image each, that both datasets have.
        first: Class and point of the unit that only the first dataset has; it may have several images, all alike.
        second: Those of the unit that the second has instead; None under ``add-remove``.
    """

    pools: tuple[tuple[Point, ...], ...]
    common: tuple[tuple[int, Point], ...]
    first: tuple[int, Point]
    second: tuple[int, Point] | None


@lru_cache(maxsize=2)  # run and audit ask for the latest again, and its coordinates take a decomposition
def join_scenes(scenes: tuple[SelectionInput, ...]) -> SelectionInput:
    """One question about several renditions of the same candidates, each of which is a row of its own."""
    if len(scenes) == 1:
        return scenes[0]
    pools = zip(*(scene.pools for scene in scenes), strict=True)
    return replace(scenes[0], pools=tuple(np.concatenate(of_class) for of_class in pools))


class Selector(Protocol):
    """A way to choose candidates: what it asks of the private data, and what it makes of the answer."""

    def measure(
        self, private: PrivateEmbeddings, scene: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Look at the private data, once: the only access, paid for by ``events``.

        Raises:
            DataError: The data cannot be measured; nothing was drawn.
            ValueError: An event is of a mechanism that this selector does not use; nothing was drawn.
        """
        ...

    def pick(self, measured: Measurement, scene: SelectionInput) -> tuple[IntArray, ...]:
        """Choose by a measurement: public post-processing, the same for the same arguments.

        Returns:
            For each class, ``scene.wanted`` indices into its pool.
        """
        ...

    def could_measure(self, measured: Measurement, scene: SelectionInput, events: Events) -> bool:
        """True if what is public in a measurement on record could be what ``measure`` released.

        Args:
            scene: What was shown; of several appearances, joined.
        """
        ...

    def is_picked(self, measured: Measurement, scene: SelectionInput, picked: Sequence[IntArray]) -> bool:
        """True if these are the picks of ``pick``, where another machine may have rounded otherwise."""
        ...


def round_down(values: FloatArray) -> FloatArray:
    """The multiple of 2**-30 that is at most ``values``: sums of up to 2**23 of them below 1 are exact."""
    return np.asarray(np.floor(values * GRID) / GRID, dtype=np.float64)


def single_event(events: Events) -> Event:
    """The one event of a selector that makes one kind of access; ``ValueError`` if there are none or several."""
    if len(events) != 1:
        raise ValueError(f"{len(events)} events do not pay for this selector's one")
    return events[0]


def require_mechanism(event: Event, mechanism: str, accesses: int = 1) -> None:
    """Refuse an event of another mechanism, or that counts another number of accesses (``ValueError``)."""
    if event.mechanism != mechanism or event.count != accesses:
        raise ValueError(
            f"an event '{event.mechanism}' x {event.count} does not pay for this selector's "
            f"'{mechanism}' x {accesses}"
        )


def unit_shares(units: IntArray) -> FloatArray:
    """Each image's share, float64 ``(images,)``, so that a unit's images add 1 in all, and never more.

    Args:
        units: int64 ``(images,)``: equal numbers are one privacy unit.
    """
    _, unit, sizes = np.unique(units, return_inverse=True, return_counts=True)
    return round_down(1.0 / sizes)[unit]


def deviation(event: Event, sensitivity: float) -> float:
    """Standard deviation ``z * sensitivity`` of Gaussian noise, rounded up."""
    # 2**-50 is four units of rounding, more than the two products lose: noise may be a hair wider, never narrower.
    return float(event.value) * sensitivity * (1 + 2**-50)


def moving_vote(relation: Relation) -> WorstCase:
    """A unit of the first class leaves one candidate for the other, and one end of a clipping ball for the other.

    The second class stays between both, so that its candidates win where those of the first class lose.
    """
    east, west, north = (0.1, 0.0), (-0.1, 0.0), (0.0, 0.1)
    return WorstCase(
        pools=((east, west), (north, north)),
        common=((0, west), (1, north)),
        first=(0, (30.0, 0.0)),
        second=(0, (-30.0, 0.0)) if relation == "replace-one" else None,
    )
