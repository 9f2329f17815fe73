"""Compute releases that are sums over owners. The coordinator, each owner and an audit run the same code.

A selector's ``measure`` requests noise on the sums of its private data, once or several times. If the
owners have answered an access, ``measure`` gets the sum of all owners' answers, whatever the private data are. At the
first access without answers, an ``UnansweredError`` with the sums of the private data ends ``measure``. The
coordinator and an audit therefore run ``measure`` without data, and an owner runs it on the owner's data.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NoReturn, Protocol

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from pcevolve.errors import ProtocolError
from pcevolve.public import selectors
from pcevolve.public.clinics.answers import Exchange, Question, digest_exchanges
from pcevolve.public.clinics.grid import Grid, Residues
from pcevolve.public.clinics.owners import Clinics
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.geometry.distances import IntArray
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event
from pcevolve.public.protocol import digest_plan
from pcevolve.public.release import Receipt
from pcevolve.public.selectors import Measurement, PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.choosing import Chooser, Rendition, choose_renditions
from pcevolve.public.selectors.selection import join_renditions
from pcevolve.public.selectors.sums import release_appearance


@dataclass
class UnansweredError(Exception):
    """Raised at an access without answers. ``values`` are private.

    Attributes:
        values: Sums of the private data at hand, without noise.
        grid: The rounding and noise for these sums.
    """

    values: FloatArray
    grid: Grid

    def __repr__(self) -> str:
        """Return only the name, because the values are private."""
        return "UnansweredError"

    __str__ = __repr__


@dataclass
class SummedNoise:
    """A source of noise that returns the sums of all owners, including their noise (see ``Noise``)."""

    clinics: Clinics
    units: int
    events: tuple[Event, ...]
    answers: Sequence[Sequence[Residues]]
    steps: Sequence[float]
    source: Literal["os-csprng"] = "os-csprng"
    _accesses: int = 0

    def gaussian(self, _key: str, values: FloatArray, sigma: float) -> FloatArray:
        """Return the sum of the owners' answers to the next access (``UnansweredError`` if there are none)."""
        place, values = self._accesses, np.asarray(values, dtype=np.float64)
        self._accesses += 1
        step = self.steps[place] if place < len(self.steps) else None
        grid = Grid.of(sigma, self.events[place], values.size, self.clinics, self.units, step)
        if place >= len(self.answers):
            raise UnansweredError(values, grid)
        total = grid.add_up(self.answers[place])
        if total.size != values.size:
            raise ProtocolError("the owners' answers have another length than what was asked for")
        return total.reshape(values.shape)

    def exponential(self, _key: str, _scores: FloatArray, _rate: object) -> NoReturn:
        """Refuse, because draws of several owners cannot be added up."""
        raise ProtocolError("draws of several owners do not add up")

    def uniform(self, _key: str, _count: int) -> NoReturn:
        """Refuse, because draws of several owners cannot be added up."""
        raise ProtocolError("draws of several owners do not add up")


class OwnerViews(Protocol):
    """An owner's private data in the form that a selector needs."""

    def embeddings(self, rendition: Rendition) -> PrivateEmbeddings:
        """Return embeddings in a rendition, with classes and units."""
        ...

    @property
    def appearances(self) -> FloatArray:
        """The appearance of each image, float64 ``(images, 6)``."""
        ...

    @property
    def unit_of(self) -> IntArray:
        """The privacy unit of each image, int64 ``(images,)``."""
        ...


@dataclass(frozen=True)
class NoData:
    """Empty data, for running a selector without private data."""

    dimension: int

    def embeddings(self, _rendition: Rendition) -> PrivateEmbeddings:
        nobody = np.empty(0, dtype=np.int64)
        return PrivateEmbeddings(np.empty((0, self.dimension)), nobody, nobody)

    @property
    def appearances(self) -> FloatArray:
        return np.empty((0, 6))

    @property
    def unit_of(self) -> IntArray:
        return np.empty(0, dtype=np.int64)


@dataclass
class Summing:
    """The releases of one run, computed from the plan, the candidates and the owners' answers.

    Attributes:
        receipts: Receipts of the releases so far, by iteration.
        measured: Measurements of the releases so far, by iteration.
    """

    plan: PublicPlan
    chooser: Chooser
    receipts: dict[int, Receipt] = field(default_factory=dict)
    measured: dict[int, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look up the privacy cost of each release."""
        method = selectors.find_method(self.plan.method.name)
        self.events = method.plan_events(self.plan)
        self.plan_digest = digest_plan(self.plan)
        assert self.plan.clinics is not None
        self.clinics = self.plan.clinics
        self._nobody = NoData(self.chooser.encoder.dimension)

    def list_accesses(self) -> list[tuple[int, int]]:
        """Return every access of the plan, as iteration and part, in order."""
        return [
            (iteration, part)
            for iteration, events in self.events.items()
            for part, _ in enumerate(each for each in events if not each.free)
        ]

    def count_parts(self, iteration: int) -> int:
        """Return how often a release accesses the private data."""
        return sum(not event.free for event in self.events[iteration])

    def ask(self, iteration: int, pool: Pool, head: str, before: Sequence[Exchange]) -> Question | None:
        """Return the next question of a release, with public values rounded on this machine, or None after the last."""
        if len(before) == self.count_parts(iteration):
            return None
        frame = before[0].question.frame if before else self._make_frame(iteration, pool)
        noise = self._add_up(iteration, head, before)
        # Without data, the selector stops at the next access, whose grid gives the step of the question.
        left = self._leave(iteration, pool, frame, noise, self._nobody)
        return Question(
            plan=self.plan_digest,
            iteration=iteration,
            part=len(before),
            head=head,
            earlier=digest_exchanges(before),
            step=left.grid.step,
            frame=base64.b64encode(frame),
        )

    def leave(
        self, pool: Pool, question: Question, before: Sequence[Exchange], private: OwnerViews
    ) -> UnansweredError:
        """Return an owner's sums for a question, without noise, and their grid. Both are private.

        Raises:
            ProtocolError: The question is not the next one of its release, an earlier answer is not signed, or the
                frame cannot come from these candidates.
        """
        if (question.plan, question.part) != (self.plan_digest, len(before)):
            raise ProtocolError("the question is about another plan or out of order; no noise was drawn")
        if question.earlier != digest_exchanges(before):
            raise ProtocolError("the question follows other answers than are shown; nothing was drawn")
        noise = self._add_up(question.iteration, question.head, before)
        noise.steps = [*noise.steps, question.step]
        return self._leave(question.iteration, pool, question.frame, noise, private)

    def release(
        self, iteration: int, pool: Pool, head: str, exchanges: Sequence[Exchange]
    ) -> tuple[Receipt, bytes]:
        """Return the receipt and the measurement of a release from all owners' answers.

        Raises:
            ProtocolError: An answer is missing or not signed by its owner, or the sum is impossible.
        """
        plan, events = self.plan, self.events[iteration]
        noise = self._add_up(iteration, head, exchanges)
        frame = exchanges[0].question.frame if exchanges else b""
        if len(exchanges) < self.count_parts(iteration):
            raise ProtocolError("not all accesses of the release are answered")
        if not iteration:
            values = self._measure_appearance(pool, noise, self._nobody)
            return Receipt(plan.run_id, 0, (), events, plan.privacy.relation, values), b""
        if exchanges:
            measured = self._measure(iteration, pool, frame, noise, self._nobody)
            memory = save(dict(measured))
        else:  # it repeats what was measured last
            measured, memory = self._find_measured(iteration, b""), b""
        choices, values = self.chooser.choose(measured, self.find_inputs(iteration, pool), pool)
        digest = hashlib.sha256(memory).hexdigest() if memory else ""
        return Receipt(plan.run_id, iteration, choices, events, plan.privacy.relation, values, digest), memory

    def find_fault(
        self, receipt: Receipt, measured: bytes, pool: Pool, head: str, exchanges: Sequence[Exchange]
    ) -> str:
        """Return the reason why a release does not follow from the owners' answers, or "" if it follows.

        Another machine may round public values differently, which changes digits far below the noise.
        """
        try:
            derived, memory = self.release(receipt.iteration, pool, head, exchanges)
        except ProtocolError as error:
            return str(error)
        if (derived, memory) == (receipt, measured):
            return ""
        # Everything except choices and rounded numbers must be equal on every machine.
        bare = [replace(each, choices=(), values=(), measured="") for each in (derived, receipt)]
        if bare[0] != bare[1] or bool(memory) != bool(measured):
            return "the release is another one than the plan's"
        if not receipt.iteration:
            near = len(receipt.values) == len(derived.values) and np.allclose(receipt.values, derived.values)
            return "" if near else _DIFFERS
        arrays = self._find_measured(receipt.iteration, measured)
        if exchanges and not _are_near(arrays, load(memory)):
            return _DIFFERS
        follows = self.chooser.follows(arrays, self.find_inputs(receipt.iteration, pool), pool, receipt)
        return "" if follows else "the selection does not follow from what was released"

    def note(self, receipt: Receipt, measured: bytes) -> None:
        self.receipts[receipt.iteration] = receipt
        if measured:
            self.measured[receipt.iteration] = measured

    def find_inputs(self, iteration: int, pool: Pool) -> tuple[SelectionInput, ...]:
        """Return a selector's inputs, one for each rendition. The renditions follow from the released appearance."""
        renditions = choose_renditions(self.plan, self.receipts.get(0) if 0 in self.plan.releases else None)
        return self.chooser.find_inputs(iteration, pool, renditions)

    def join(self, iteration: int, pool: Pool) -> SelectionInput:
        """Return a selector's input for its measurement."""
        return join_renditions(self.find_inputs(iteration, pool))

    def _find_measured(self, iteration: int, measured: bytes) -> Measurement:
        """Return the measurement by which a release chooses: its own, or the latest earlier one."""
        known = measured or self.measured[max(each for each in self.measured if each < iteration)]
        return load(known)

    def _make_frame(self, iteration: int, pool: Pool) -> bytes:
        """Return the frame in which means are measured, or no bytes for a release without means."""
        if not (iteration and selectors.find_method(self.plan.method.name).centre_first):
            return b""
        frame = self.join(iteration, pool).coordinates
        return save({"centre": frame.centre, "axes": np.ascontiguousarray(frame.axes)})

    def _add_up(self, iteration: int, head: str, exchanges: Sequence[Exchange]) -> SummedNoise:
        """Return the sums of all owners so far. Each answer must be signed for its question of this release."""
        for place, each in enumerate(exchanges):
            question, earlier = each.question, digest_exchanges(exchanges[:place])
            stated = (question.plan, question.iteration, question.part, question.head, question.earlier)
            if stated != (self.plan_digest, iteration, place, head, earlier):
                raise ProtocolError("an answer is to another question than this release asks")
            if question.frame != exchanges[0].question.frame:
                raise ProtocolError("a release is measured in one frame")
        events = tuple(event for event in self.events[iteration] if not event.free)
        if len(exchanges) > len(events):
            raise ProtocolError("more was answered than the release asks for")
        units = self.clinics.shots * len(self.plan.labels)
        vectors = [each.read(self.clinics) for each in exchanges]
        return SummedNoise(self.clinics, units, events, vectors, [each.question.step for each in exchanges])

    def _leave(
        self, iteration: int, pool: Pool, frame: bytes, noise: SummedNoise, private: OwnerViews
    ) -> UnansweredError:
        try:
            self._measure(iteration, pool, frame, noise, private)
        except UnansweredError as left:
            return left
        raise ProtocolError("an access was asked for that this release does not make; nothing was drawn")

    def _measure(
        self, iteration: int, pool: Pool, frame: bytes, noise: SummedNoise, private: OwnerViews
    ) -> Measurement:
        if not iteration:
            self._measure_appearance(pool, noise, private)
            return {}
        inputs = self.join(iteration, pool)
        if frame:
            inputs = _with_frame(inputs, frame)
        rendition = choose_renditions(self.plan, self.receipts.get(0))[0]
        return self.chooser.selector.measure(private.embeddings(rendition), inputs, noise.events, noise)

    def _measure_appearance(self, pool: Pool, noise: SummedNoise, private: OwnerViews) -> tuple[float, ...]:
        plan = self.plan
        released = release_appearance(
            private.appearances,
            private.unit_of,
            plan.data.shots * len(plan.labels),
            self.chooser.common_appearance(pool),
            noise.events[0],
            plan.privacy.relation,
            noise,
            plan.noise_factor,
        )
        return released.numbers


_DIFFERS = "what was released is not the sum of the owners' answers"
_NEAR = 1e-4
"""Largest difference between equal measurements of two machines, as a share of an array's largest number.

The share is far below the noise of a useful release.
"""


def _are_near(one: Measurement, other: Measurement) -> bool:
    """Return True if two measurements are equal up to rounding."""
    if one.keys() != other.keys() or any(one[each].shape != other[each].shape for each in one):
        return False
    return all(np.abs(one[each] - other[each]).max() <= _NEAR * np.abs(other[each]).max() for each in one)


def _with_frame(inputs: SelectionInput, frame: bytes) -> SelectionInput:
    """Return inputs in another machine's frame, if it equals this machine's frame up to rounding."""
    try:
        arrays = load(frame)
        centre, axes = arrays.pop("centre"), arrays.pop("axes")
    except (SafetensorError, ValueError, KeyError):
        raise ProtocolError("the question contains no frame for the embeddings; no noise was drawn") from None
    if arrays or not inputs.coordinates.resembles(centre, axes):
        raise ProtocolError(
            "the frame to measure in is not what these candidates give: versions or encoders differ; nothing was drawn"
        )
    return inputs.with_recorded_frame(centre, axes)
