"""A selector's input and its two steps: one access to the private data, then a public choice.

The contributions of privacy units are bounded here, once for all selectors. Weights are multiples of 2**-30, so
their sums are exact in float64. The amount that an image adds therefore depends neither on the order of the sum
nor on the other summands.
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
"""The results of one access to private data, by name: noisy numbers (float64) or drawn indices (int64).

The results are public once they are paid for.
"""

GRID = 2.0**30


@dataclass(frozen=True, repr=False, eq=False)
class PrivateEmbeddings:
    """Embeddings of the private images, with classes and units. All of it is private, including the number of images.

    Attributes:
        embeddings: Finite ``(images, d)``.
        targets: int64 ``(images,)``, the indices of their classes.
        units: int64 ``(images,)``. Equal numbers belong to one privacy unit.
        caps: float64 ``(images,)`` in [0, 1], the share of its vote that an item keeps despite its secrets. None if all
            items keep their vote.
    """

    embeddings: Embeddings
    targets: IntArray
    units: IntArray
    caps: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.embeddings)

    @cached_property
    def shares(self) -> FloatArray:
        """The weight of each image, float64 ``(images,)``. The weights of a unit's images add up to at most 1."""
        return unit_shares(self.units)

    @property
    def capped(self) -> FloatArray:
        """The remaining share of each image's vote, float64 ``(images,)``."""
        return np.ones(len(self)) if self.caps is None else round_down(self.caps)

    def norm_shares(self, votes: IntArray) -> FloatArray:
        """Return a weight for each image, so that a unit's vector of votes has an L2 norm of at most 1.

        Args:
            votes: int64 ``(images, q)``, the entries of a vector over all classes for which each image votes.

        Returns:
            float64 ``(images,)``: one over the norm of the unit's unweighted votes. This is 1 for a unit with one image
            and one vote.
        """
        # The count is exact, in integers, and the weight is rounded down: a norm of 1 plus a rounding error would
        # exceed the bound.
        _, unit = np.unique(self.units, return_inverse=True)
        voters = np.repeat(unit, votes.shape[1])
        pairs, counts = np.unique(np.stack([voters, votes.ravel()]), axis=1, return_counts=True)
        squares = np.bincount(pairs[0], weights=np.square(counts))
        return round_down(1.0 / np.sqrt(squares))[unit]


@dataclass(frozen=True, eq=False)
class SelectionInput:
    """The public input of one round's selection.

    Attributes:
        pools: The candidates' embeddings of each class, float64 ``(candidates, d)``. A row that is not finite belongs
            to an unusable candidate.
        wanted: Number of candidates to choose from each class.
        iteration: From 1. The choice of the dataset has the number ``iterations + 1``.
        iterations: Number of rounds.
        seed: Seed of public randomness.
        relation: Neighbour relation under which the events' parameters hold.
        threshold: H, which is subtracted from noisy votes.
        frame: Public frame for class means. None if it is built from the candidates.
        public: The encoder's public frame, which is joined with the candidates. None if it is not used.
        votes: Number of nearest candidates for which an image votes, q.
        tau: τ of PCEvolve's similarity calibrator.
        cells: Largest number of cells of each class. None for a cell around every first candidate.
        first: Number of first candidates of each class. None if all candidates are first candidates.
        drawn: Whether a selector that normally keeps the best candidates draws by votes instead.
        noise_factor: Ratio of the noise in the release to the noise that its events pay for (standard deviations). It
            is above 1 if several owners add shares of noise.
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
    noise_factor: float = 1.0

    def first_of(self, target: int) -> FloatArray:
        """Return the embeddings of a class's first candidates."""
        return self.pools[target][: self.first]

    def ruler(self, measured: Measurement) -> Ruler:
        """Return the ruler for distances of these candidates, after a measurement."""
        arrays = (measured[name].tobytes() for name in sorted(measured))
        return Ruler.of(self.pools, b"".join([self.key.encode(), *arrays]))

    @cached_property
    def coordinates(self) -> Frame:
        """The frame in which means are released: the given frame, or one built from the candidates."""
        if self.frame is not None:
            return self.frame
        # Computed once per input and shared by measure, pick and audit, because it decomposes all candidates.
        return self._find_frame()

    def with_recorded_frame(self, centre: FloatArray, axes: FloatArray) -> Self:
        """Return this input in a frame with the given centre and axes, which another machine may have rounded."""
        # Equal frames are not built again.
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
        """The public name of the round, for the noise's keys."""
        return f"{self.iteration:04d}"

    def eligible(self, target: int) -> IntArray:
        """Return the indices of a class's usable candidates, int64 ``(n,)``, or all if none is usable. Public."""
        # If none is usable, all are eligible. An empty choice would change the number of images, and other checks end
        # such a run earlier.
        usable = np.flatnonzero(np.isfinite(self.pools[target]).all(axis=1))
        return usable if len(usable) else np.arange(len(self.pools[target]))

    def random(self, *purpose: int) -> np.random.Generator:
        """Return a public random generator for one purpose."""
        # Each purpose has its own generator, so that an additional draw in one place changes no draw elsewhere.
        return np.random.default_rng([self.seed, *purpose])


Point = tuple[float, float]


@dataclass(frozen=True)
class WorstCase:
    """Two datasets in a plane that differ in one unit, close to the worst case for a selector.

    Attributes:
        pools: For each of two classes, the points of its candidates. Both have the same number of candidates.
        common: Class and point of the units that are in both datasets. Each unit has one image.
        first: Class and point of the unit that only the first dataset has. This unit may have several equal images.
        second: Class and point of the unit that the second dataset has instead. None under ``add-remove``.
    """

    pools: tuple[tuple[Point, ...], ...]
    common: tuple[tuple[int, Point], ...]
    first: tuple[int, Point]
    second: tuple[int, Point] | None


@lru_cache(maxsize=2)  # run and audit ask for the latest again; its coordinates are slow to compute
def join_renditions(all_inputs: tuple[SelectionInput, ...]) -> SelectionInput:
    """Join the inputs of several renditions of the same candidates. Each rendition of a candidate becomes a row."""
    if len(all_inputs) == 1:
        return all_inputs[0]
    pools = zip(*(inputs.pools for inputs in all_inputs), strict=True)
    return replace(all_inputs[0], pools=tuple(np.concatenate(of_class) for of_class in pools))


class Selector(Protocol):
    """A way to choose candidates: a query of the private data, and a public choice by its answer."""

    def measure(
        self, private: PrivateEmbeddings, inputs: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Query the private data. This is the selector's only access, and ``events`` pay for it.

        Raises:
            DataError: The data cannot be measured. Nothing was drawn.
            ValueError: An event has a mechanism that this selector does not use. Nothing was drawn.
        """
        ...

    def pick(self, measured: Measurement, inputs: SelectionInput) -> tuple[IntArray, ...]:
        """Choose by a measurement. This is public, deterministic post-processing.

        Returns:
            For each class, ``inputs.wanted`` indices into its pool.
        """
        ...

    def could_measure(self, measured: Measurement, inputs: SelectionInput, events: Events) -> bool:
        """Return True if a recorded measurement has a form that ``measure`` could have released.

        Args:
            inputs: The input. The inputs of several renditions are joined.
        """
        ...

    def is_picked(self, measured: Measurement, inputs: SelectionInput, picked: Sequence[IntArray]) -> bool:
        """Return True if ``pick`` could make these picks, up to rounding on another machine."""
        ...


def round_down(values: FloatArray) -> FloatArray:
    """Round down to multiples of 2**-30. Sums of up to 2**23 such values below 1 are exact."""
    return np.asarray(np.floor(values * GRID) / GRID, dtype=np.float64)


def single_event(events: Events) -> Event:
    """Return the only event of a selector that makes one access (``ValueError`` for none or several)."""
    # A second event would be charged but not used, and without an event nothing would pay for the access.
    if len(events) != 1:
        raise ValueError(f"{len(events)} events do not pay for this selector's one")
    return events[0]


def require_mechanism(event: Event, mechanism: str, accesses: int = 1) -> None:
    """Refuse an event with a mechanism or a number of accesses other than these (``ValueError``)."""
    # The ledger charged this event. Any other noise would not be what was paid for.
    if event.mechanism != mechanism or event.count != accesses:
        raise ValueError(
            f"an event '{event.mechanism}' x {event.count} does not pay for this selector's "
            f"'{mechanism}' x {accesses}"
        )


def unit_shares(units: IntArray) -> FloatArray:
    """Return each image's weight, float64 ``(images,)``. The weights of a unit's images add up to at most 1.

    Args:
        units: int64 ``(images,)``. Equal numbers belong to one privacy unit.
    """
    _, unit, sizes = np.unique(units, return_inverse=True, return_counts=True)
    # Rounded down: three thirds must never add up to more than one unit's vote.
    return round_down(1.0 / sizes)[unit]


def deviation(event: Event, sensitivity: float) -> float:
    """Return the standard deviation ``z * sensitivity`` of Gaussian noise, rounded up."""
    # 2**-50 is four rounding units, more than the two products can lose, so the noise is never too small.
    return float(event.value) * sensitivity * (1 + 2**-50)


def moving_vote(relation: Relation) -> WorstCase:
    """Return a worst case: a unit of the first class moves from one candidate to the other, across the clipping ball.

    The second class lies between both candidates of the first class.
    """
    east, west, north = (0.1, 0.0), (-0.1, 0.0), (0.0, 0.1)
    return WorstCase(
        pools=((east, west), (north, north)),
        # One common unit per class: a class without units has no mean, and an empty histogram would hide the
        # difference.
        common=((0, west), (1, north)),
        # Far outside the clipping ball, so that the clip, rather than the point, bounds the unit's contribution.
        first=(0, (30.0, 0.0)),
        second=(0, (-30.0, 0.0)) if relation == "replace-one" else None,
    )
