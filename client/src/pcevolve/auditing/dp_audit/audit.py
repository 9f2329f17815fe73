"""Run a method's real selector many times on two neighbouring datasets, and bound its ε from the releases.

The audit sees everything that a run's mechanisms release. The provider sees less, namely prototypes that are computed
from these releases. An audit can refute a claim but never prove one, because the datasets may not be the worst case,
and the learnt event may not be the most telling one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from pcevolve.auditing.dp_audit.bound import (
    AnyMechanism,
    GaussianMechanism,
    Inference,
    Outcomes,
    find_best_distinguisher,
)
from pcevolve.auditing.dp_audit.claim import Claim, ClaimVerdict
from pcevolve.errors import UsageError
from pcevolve.public.dp.mechanisms import FloatArray, Noise, SecureNoise, SeededNoise
from pcevolve.public.media.images.appearance import MIDDLE, NUMBERS, average_appearance
from pcevolve.public.privacy import Event, Events, Relation
from pcevolve.public.selectors import (
    Measurement,
    Method,
    PrivateEmbeddings,
    Scope,
    SelectionInput,
    Selector,
    find_method,
)
from pcevolve.public.selectors.selection import Point, single_event
from pcevolve.public.selectors.sums import release_appearance

Tick = Callable[[], None]
NoiseOf = Callable[[int], Noise]
"""Maps the number of a simulated run to the run's noise. In a seeded audit, each run's seed depends on the number."""
Unit = tuple[int, Point, int]
"""A privacy unit: class and point of its images, and the number of its images."""

LABELS = ("first", "second")
SHOTS = 2


@dataclass(frozen=True)
class Neighbours:
    """Two datasets that differ in one privacy unit, and their common candidates.

    Attributes:
        pools: For each class, the points of its candidates.
        first: The unit that only the first dataset has.
        second: The unit that the second dataset has instead; None under ``add-remove``.
    """

    pools: tuple[tuple[Point, ...], ...]
    common: tuple[Unit, ...]
    first: Unit
    second: Unit | None
    relation: Relation

    @classmethod
    def worst_for(cls, method: Method, relation: Relation, images: int) -> Neighbours:
        """Build the pair of datasets that the method declares as its worst case.

        Raises:
            UsageError: The method never accesses private data, or declares no worst case.
        """
        if method.selector is None:
            raise UsageError(f"method '{method.name}' never looks at private data: there is nothing to audit")
        if method.worst_case is None:
            raise UsageError(
                f"method '{method.name}' defines no worst-case pair of neighbouring datasets, so an audit would show "
                "nothing: implement worst_case"
            )
        worst = method.worst_case(relation)
        return cls(
            pools=worst.pools,
            common=tuple((*unit, 1) for unit in worst.common),
            first=(*worst.first, images),
            second=(*worst.second, images) if worst.second else None,
            relation=relation,
        )

    @property
    def datasets(self) -> tuple[PrivateEmbeddings, PrivateEmbeddings]:
        """Return the embeddings of the first and the second dataset."""
        other = (self.second,) if self.second else ()
        return _embeddings_of((*self.common, self.first)), _embeddings_of((*self.common, *other))

    @property
    def appearances(self) -> tuple[FloatArray, FloatArray]:
        """Return the appearances of both datasets' images, float64 ``(images, 6)``.

        The unit in which the datasets differ has only ones in the first dataset. In the second it has only zeros, or no
        images.
        """
        rest = [np.full((images, NUMBERS), MIDDLE) for _, _, images in self.common]
        other = [np.zeros((self.second[2], NUMBERS))] if self.second else []
        return np.vstack([*rest, np.ones((self.first[2], NUMBERS))]), np.vstack([*rest, *other])

    def scope(self, rounds: int) -> Scope:
        """Return the public sizes, from which the cost of a round is calibrated."""
        return Scope(
            relation=self.relation,
            iterations=rounds,
            classes=len(LABELS),
            shots=SHOTS,
            candidates=len(self.pools[0]),
        )

    def inputs(self, iteration: int, rounds: int, wanted: int) -> SelectionInput:
        """Return the selector's input for one round. The candidates are the same in all rounds."""
        return SelectionInput(
            labels=LABELS,
            pools=tuple(np.array(pool) for pool in self.pools),
            wanted=wanted,
            shots=SHOTS,
            iteration=iteration,
            iterations=rounds,
            seed=0,
            relation=self.relation,
        )


def _embeddings_of(units: tuple[Unit, ...]) -> PrivateEmbeddings:
    targets, points, images = zip(*units, strict=True)
    return PrivateEmbeddings(
        embeddings=np.repeat(np.array(points, dtype=np.float64), images, axis=0),
        targets=np.repeat(np.array(targets, dtype=np.int64), images),
        units=np.repeat(np.arange(len(units), dtype=np.int64), images),
    )


@dataclass(frozen=True)
class Simulation:
    """Many runs of one method on the same data.

    Attributes:
        accesses: Events of each access by iteration, from the method's calibration; 0 is the appearance.
        wanted: Number of prototypes per class and round.
    """

    selector: Selector
    pair: Neighbours
    accesses: Mapping[int, tuple[Event, ...]]
    wanted: int
    noise_of: NoiseOf

    def outcomes(
        self, private: PrivateEmbeddings, appearances: FloatArray, numbers: range, tick: Tick
    ) -> Outcomes:
        """Return the releases of the runs in this range of run numbers, on private embeddings and appearances."""
        runs = []
        for number in numbers:
            noise = self.noise_of(number)
            paid = {t: events for t, events in self.accesses.items() if not events[0].free}
            runs.append([self._release(t, paid[t], private, appearances, noise) for t in sorted(paid)])
            tick()
        return Outcomes.of(runs)

    def _release(
        self,
        iteration: int,
        events: Events,
        private: PrivateEmbeddings,
        appearances: FloatArray,
        noise: Noise,
    ) -> Measurement:
        if iteration:
            inputs = self.pair.inputs(iteration, max(self.accesses), self.wanted)
            return self.selector.measure(private, inputs, events, noise)
        prior, expected = average_appearance(()), SHOTS * len(LABELS)
        released = release_appearance(
            appearances, private.units, expected, prior, single_event(events), self.pair.relation, noise
        )
        return {"appearance": released.vector}


def audit_method(claim: Claim, seed: int | None, tick: Tick) -> ClaimVerdict:
    """Audit the selector of the claim's method.

    Args:
        seed: Replaces a real run's noise by seeded noise, so that the audit is repeatable.
        tick: Called after each of the ``2 * claim.runs`` simulated runs.

    Raises:
        UsageError: The method is unknown, or ``audit_selector`` refuses it.
    """
    method = find_method(claim.method)
    return audit_selector(claim, method, None, noises(seed), tick)


def audit_selector(
    claim: Claim, method: Method, selector: Selector | None, noise_of: NoiseOf, tick: Tick
) -> ClaimVerdict:
    """Audit a method's own selector, or another, possibly broken selector, against the method's claim.

    Args:
        method: Makes the claim, and determines the events that a run pays for.
        selector: Audited in place of the method's own selector; None for the method's own.

    Raises:
        UsageError: The method never accesses private data, declares no worst case, or needs a δ.
    """
    pair = Neighbours.worst_for(method, claim.relation, claim.images)
    scope = pair.scope(claim.rounds)
    accesses = method.accesses(claim.budget, scope, appearance=method.appearance)
    simulation = Simulation(
        selector or method.make_selector(), pair, accesses, method.prototypes or scope.candidates, noise_of
    )
    numbers = range(claim.runs), range(claim.runs, 2 * claim.runs)
    first, second = (
        simulation.outcomes(private, appearances, each, tick)
        for private, appearances, each in zip(pair.datasets, pair.appearances, numbers, strict=True)
    )
    return bound_epsilon(claim, inference(claim, accesses.values()), first, second, noise_of(0).source)


def inference(claim: Claim, accesses: Iterable[tuple[Event, ...]]) -> Inference:
    """Return the rule that turns counts into a bound on ε; it depends on the mechanism of the method's events."""
    paid = [event for events in accesses for event in events if not event.free]
    kind = GaussianMechanism if all(event.mechanism == "gaussian" for event in paid) else AnyMechanism
    return kind(claim.budget.delta, claim.confidence)


def bound_epsilon(
    claim: Claim, held: Inference, first: Outcomes, second: Outcomes, noise: str
) -> ClaimVerdict:
    """Choose an event on the first half of the runs, and bound ε by the second half."""
    (learn_first, test_first), (learn_second, test_second) = first.halves(), second.halves()
    event, tested = find_best_distinguisher(learn_first, learn_second, held), len(test_first)
    counts = event.count(test_first), event.count(test_second)
    likely, rare = counts if event.likelier == "first" else (counts[1], counts[0])
    return ClaimVerdict(
        claim=claim,
        epsilon_lower_bound=held.epsilon(likely, rare, tested),
        epsilon_ceiling=held.epsilon(tested, 0, tested),
        inference=held.name,
        event=str(event),
        likelier=event.likelier,
        counts=counts,
        tested=tested,
        noise=noise,
    )


def noises(seed: int | None) -> NoiseOf:
    """Return secure noise for every run, or seeded noise with a different seed for every run."""
    if seed is None:
        secure = SecureNoise()
        return lambda number: secure
    return lambda number: SeededNoise(seed << 32 | number)
