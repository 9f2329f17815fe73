"""Run a method's real selector on two neighbouring datasets, many times, and bound its ε from what comes out.

The audit sees all that a run's mechanisms release, which is more than the provider sees: prototypes are computed from
it. It can refute a claim, never prove one: the datasets are bad ones, not the worst, and the event is learnt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pcevolve.dp.mechanisms import FloatArray, Noise, SecureNoise, SeededNoise
from pcevolve.dp_audit.bound import AnyMechanism, GaussianMechanism, Inference
from pcevolve.dp_audit.claim import Claim, Verdict
from pcevolve.dp_audit.event import Outcomes, most_telling
from pcevolve.dp_audit.worlds import LABELS, SHOTS, Neighbours
from pcevolve.modality.images.appearance import common_appearance
from pcevolve.privacy import Event, Events
from pcevolve.selectors import Measurement, Method, PrivateEmbeddings, Selector
from pcevolve.selectors import method as method_named
from pcevolve.selectors.scene import only
from pcevolve.selectors.sums import released_appearance

Tick = Callable[[], None]
NoiseOf = Callable[[int], Noise]
"""The noise of a simulated run, by the run's number: seeded noise repeats itself, so each needs a seed of its own."""


@dataclass(frozen=True)
class Simulation:
    """Many runs of one method on the same data.

    Attributes:
        selector: The method's own.
        pair: Neighbouring datasets and the candidates.
        accesses: Events of each access by iteration, as the method's calibration makes them; 0 is the appearance.
        wanted: Prototypes per class and round.
        noise_of: Noise of each run.
    """

    selector: Selector
    pair: Neighbours
    accesses: Mapping[int, tuple[Event, ...]]
    wanted: int
    noise_of: NoiseOf

    def outcomes(
        self, private: PrivateEmbeddings, appearances: FloatArray, numbers: range, tick: Tick
    ) -> Outcomes:
        """Return what the numbered runs release about private embeddings and the appearances of their images."""
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
            scene = self.pair.scene(iteration, max(self.accesses), self.wanted)
            return self.selector.measure(private, scene, events, noise)
        prior, expected = common_appearance(()), SHOTS * len(LABELS)
        released = released_appearance(
            appearances, private.units, expected, prior, only(events), self.pair.relation, noise
        )
        return {"appearance": released.vector}


def audit_method(claim: Claim, seed: int | None, tick: Tick) -> Verdict:
    """Audit the selector that the claim's method really uses.

    Args:
        claim: What is put to the test.
        seed: Makes the audit repeatable, with seeded noise in place of a real run's.
        tick: Called after each of the ``2 * claim.runs`` simulated runs.

    Raises:
        UsageError: No such method, or as ``audit_selector``.
    """
    method = method_named(claim.method)
    return audit_selector(claim, method, None, noises(seed), tick)


def audit_selector(
    claim: Claim, method: Method, selector: Selector | None, noise_of: NoiseOf, tick: Tick
) -> Verdict:
    """Audit a method's own selector, or any, also a broken one, against the claim of the method.

    Args:
        claim: What is put to the test.
        method: Makes the claim, and says which events a run pays for.
        selector: Audited in place of the method's own, if any.
        noise_of: Noise of each simulated run.
        tick: Called after each of them.

    Raises:
        UsageError: The method never looks at private data, names no worst case, or needs a δ.
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
    """Return the test that counts are held against: the guarantee that the method's events really give."""
    paid = [event for events in accesses for event in events if not event.free]
    kind = GaussianMechanism if all(event.mechanism == "gaussian" for event in paid) else AnyMechanism
    return kind(claim.budget.delta, claim.confidence)


def bound_epsilon(claim: Claim, held: Inference, first: Outcomes, second: Outcomes, noise: str) -> Verdict:
    """Choose an event on the first half of the runs and bound ε by the second half."""
    (learn_first, test_first), (learn_second, test_second) = first.halves(), second.halves()
    event, tested = most_telling(learn_first, learn_second, held), len(test_first)
    counts = event.count(test_first), event.count(test_second)
    likely, rare = counts if event.likelier == "first" else (counts[1], counts[0])
    return Verdict(
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
    """Secure noise for every run, or seeded noise that differs from run to run."""
    if seed is None:
        secure = SecureNoise()
        return lambda number: secure
    return lambda number: SeededNoise(seed << 32 | number)
