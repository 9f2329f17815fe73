"""PCEvolve (Zhang et al., ICML 2025, Algorithm 1): class centres, contrastive filter, similarity calibrator.

Every utility lies in [0, 1] for any private data, so its sensitivity is 1 under both neighbour relations and
for units of any number of images. It is not monotone: one image moves a class's centre, and with it all
utilities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcevolve.errors import DataError
from pcevolve.public.dp.mechanisms import FloatArray, Noise, clamp
from pcevolve.public.geometry.distances import IntArray, distances
from pcevolve.public.privacy import Event, Events, Relation
from pcevolve.public.selectors.consistency import Drawn
from pcevolve.public.selectors.method import Method, Sensitivity
from pcevolve.public.selectors.rounds import Scope, best_tenth, drawn_lift, exponential_per_class
from pcevolve.public.selectors.selection import (
    Measurement,
    PrivateEmbeddings,
    SelectionInput,
    WorstCase,
    require_mechanism,
    single_event,
)


def mark_passing(distance: FloatArray, own: int) -> NDArray[np.bool_]:
    """Contrastive filter: True where the own class's centre is strictly the nearest, bool ``(candidates,)``.

    Source: PCEvolve, equation 1.
    """
    # Without another class nothing is nearer, so ``initial`` lets all pass.
    others = np.delete(distance, own, axis=1).min(axis=1, initial=np.inf)
    # Strictly, as published: at equal distances a candidate says nothing about its class.
    return np.asarray(np.isfinite(distance).all(axis=1) & (distance[:, own] < others))


def similarity(near: FloatArray, tau: float) -> FloatArray:
    """Similarity calibrator ``exp(-tau * (d - d_min) / (d_max - d_min))``; 1 where all distances are equal.

    Source: PCEvolve, equation 3.
    """
    # Where all are equally near, the published formula divides 0 by 0; all are then equally good.
    spread = np.ptp(near) if len(near) else 0.0
    return np.exp(-tau * (near - near.min()) / spread) if spread > 0 else np.ones(len(near))


def calibrate(distance: FloatArray, own: int, tau: float) -> FloatArray:
    """Return ``u = h∘g`` as published: calibrated over the candidates that pass the filter, 0 for all others.

    Args:
        distance: float64 ``(candidates, classes)``, distances to the class centres.
        own: Column of the candidates' own class.

    Returns:
        float64 ``(candidates,)`` in [0, 1].
    """
    # Those that fail the filter keep utility 0 instead of being left out: which ones pass is private, and the
    # exponential mechanism must be able to return any candidate.
    utility, chosen = np.zeros(len(distance)), mark_passing(distance, own)
    utility[chosen] = similarity(distance[chosen, own], tau)
    return utility


class Contrastive(Drawn):
    """One draw per class with probability proportional to ``exp(ε u / 2)``.

    A round's event is ``exponential`` with ε for each of its ``classes`` draws. Each draw sees the images of
    all classes, so the draws compose.
    """

    def measure(
        self, private: PrivateEmbeddings, inputs: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Draw a candidate of each class by its utility.

        Returns:
            ``chosen``: int64 ``(classes,)``, indices into each class's pool.

        Raises:
            DataError: A class has no private image, so it has no centre; nothing was drawn.
        """
        event = single_event(events)
        require_mechanism(event, "exponential", accesses=len(inputs.labels))
        drawn = [
            # Half of ε, as in the general exponential mechanism: these scores are not monotone under either relation.
            eligible[noise.exponential(f"{inputs.key}/{label}", scores, event.value / 2)]
            for label, (eligible, scores) in zip(inputs.labels, self.scores(private, inputs), strict=True)
        ]
        return {"chosen": np.array(drawn, dtype=np.int64)}

    def scores(self, private: PrivateEmbeddings, inputs: SelectionInput) -> list[tuple[IntArray, FloatArray]]:
        """Return each class's eligible candidates and their utilities; private."""
        centres = class_centres(private, inputs)
        scored = []
        for target, pool in enumerate(inputs.pools):
            eligible = inputs.eligible(target)
            utility = calibrate(distances(pool[eligible], centres), target, inputs.tau)
            # ``calibrate`` promises [0, 1] already; the bound holds here
            # whatever a provider's points make of its formula.
            scored.append((eligible, clamp(utility)))
        return scored


def class_centres(private: PrivateEmbeddings, inputs: SelectionInput) -> FloatArray:
    """Return the mean embedding of each class, float64 ``(classes, d)``; every unit has the same weight."""
    for target, label in enumerate(inputs.labels):
        # Refused before anything is drawn: a mean of no images is NaN, and the draw would be arbitrary but
        # paid for.
        if not (private.targets == target).any():
            raise DataError(f"class '{label}' has no private images, so it has no centre: nothing was drawn")
    shares = private.shares
    # All classes, also for a draw of one: each utility depends on the distances to every centre, which is why
    # draws compose sequentially.
    rows = [private.targets == target for target in range(len(inputs.labels))]
    # Weighted by unit, so that a patient of ten images does not pull a centre ten times as far.
    return np.stack([np.average(private.embeddings[row], axis=0, weights=shares[row]) for row in rows])


def exponential_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """Return the lift with utility 1 for the best tenth and 0 for the rest, drawn with ``exp(ε u / 2)``."""
    return drawn_lift(float(events[0].value) / 2, best_tenth(scope.candidates), scope)


def moving_centres(relation: Relation) -> WorstCase:
    """One class's centre moves from east to west; the other's moves back if the unit changes its class.

    One candidate in four loses by that and three win, so both the score and the normalisation of a draw turn
    against it.
    """
    east, west, between = (0.1, 0.0), (-0.1, 0.0), (0.0, 0.0)
    beyond_east = (0.3, 0.0)  # its mean with west is east
    beside = (0.3, 0.001)  # as good, and another place, so that a leak of bare embeddings shows
    changes_class = relation == "replace-one"
    return WorstCase(
        pools=((east, west, west, west), (west, east, east, east)),
        common=((0, west), (1, west if changes_class else between)),
        first=(0, beyond_east),
        second=(1, beside) if changes_class else None,
    )


METHOD = Method(
    name="pcevolve",
    summary="PCEvolve: class centres, contrastive filter, similarity calibrator, exponential mechanism",
    guarantee=(
        "pure epsilon-DP, delta = 0: every draw has a utility in [0, 1] (sensitivity 1) and costs "
        "epsilon/(iterations x classes), and all draws compose sequentially. The same epsilon holds under "
        "replace-one and add-remove, because the factor 1/2 of the exponential mechanism is kept"
    ),
    selector=Contrastive,
    tight=exponential_per_class,
    lift=exponential_lift,
    # one score may rise from 0 to 1 where another falls from 1 to 0
    sensitivity=Sensitivity(lambda relation: 2.0, "utilities"),
    worst_case=moving_centres,
)
