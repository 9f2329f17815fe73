"""PCEvolve (Zhang et al., ICML 2025, Algorithm 1): class centres, contrastive filter, similarity calibrator.

For any private data each utility lies in [0, 1]. Its sensitivity is therefore 1 under both neighbour relations and
for units with any number of images. The utility is not monotone: one image moves a class's centre and so changes
all utilities.
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
    """Apply the contrastive filter: True if a candidate is strictly nearest to its own class's centre.

    Returns:
        bool ``(candidates,)``.

    Source: PCEvolve, equation 1.
    """
    # If there is no other class, ``initial`` lets all candidates pass.
    others = np.delete(distance, own, axis=1).min(axis=1, initial=np.inf)
    # Strictly nearer, as published: a candidate that is equally near to two centres gives no information about its
    # class.
    return np.asarray(np.isfinite(distance).all(axis=1) & (distance[:, own] < others))


def similarity(near: FloatArray, tau: float) -> FloatArray:
    """Return the similarity ``exp(-tau * (d - d_min) / (d_max - d_min))``, or 1 if all distances are equal.

    Source: PCEvolve, equation 3.
    """
    # If all candidates are equally far, the published formula divides 0 by 0. All of them are then equally good.
    spread = np.ptp(near) if len(near) else 0.0
    return np.exp(-tau * (near - near.min()) / spread) if spread > 0 else np.ones(len(near))


def calibrate(distance: FloatArray, own: int, tau: float) -> FloatArray:
    """Return ``u = h∘g`` as published: calibrated over the candidates that pass the filter, and 0 for all others.

    Args:
        distance: float64 ``(candidates, classes)``, distances to the class centres.
        own: The column of the candidates' own class.

    Returns:
        float64 ``(candidates,)`` in [0, 1].
    """
    # Candidates that fail the filter keep utility 0 instead of being removed. Which candidates pass is private, and the
    # exponential mechanism must be able to return any candidate.
    utility, chosen = np.zeros(len(distance)), mark_passing(distance, own)
    utility[chosen] = similarity(distance[chosen, own], tau)
    return utility


class Contrastive(Drawn):
    """One draw per class with probability proportional to ``exp(ε u / 2)``.

    A round's event is ``exponential`` with ε for each of its ``classes`` draws. Each draw reads the images of all
    classes, so the draws compose sequentially.
    """

    def measure(
        self, private: PrivateEmbeddings, inputs: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        """Draw a candidate of each class by its utility.

        Returns:
            ``chosen``: int64 ``(classes,)``, indices into each class's pool.

        Raises:
            DataError: A class has no private image and therefore no centre. Nothing was drawn.
        """
        event = single_event(events)
        require_mechanism(event, "exponential", accesses=len(inputs.labels))
        drawn = [
            # Half of ε, as in the general exponential mechanism, because these scores are not monotone.
            eligible[noise.exponential(f"{inputs.key}/{label}", scores, event.value / 2)]
            for label, (eligible, scores) in zip(inputs.labels, self.scores(private, inputs), strict=True)
        ]
        return {"chosen": np.array(drawn, dtype=np.int64)}

    def scores(self, private: PrivateEmbeddings, inputs: SelectionInput) -> list[tuple[IntArray, FloatArray]]:
        """Return each class's eligible candidates and their utilities. Both are private."""
        centres = class_centres(private, inputs)
        scored = []
        for target, pool in enumerate(inputs.pools):
            eligible = inputs.eligible(target)
            utility = calibrate(distances(pool[eligible], centres), target, inputs.tau)
            # ``calibrate`` already returns values in [0, 1]. Clamping guarantees this even if a provider's points break
            # the formula.
            scored.append((eligible, clamp(utility)))
        return scored


def class_centres(private: PrivateEmbeddings, inputs: SelectionInput) -> FloatArray:
    """Return the mean embedding of each class, float64 ``(classes, d)``. Every unit has the same weight."""
    for target, label in enumerate(inputs.labels):
        # Refused before anything is drawn: the mean of no images is NaN, so the draw would be arbitrary but would be
        # charged.
        if not (private.targets == target).any():
            raise DataError(f"class '{label}' has no private images, so it has no centre: nothing was drawn")
    shares = private.shares
    # All classes are needed even for one draw, because each utility depends on the distances to every centre. This is
    # why draws compose sequentially.
    rows = [private.targets == target for target in range(len(inputs.labels))]
    # Weighted by unit, so that a patient with ten images does not move a centre ten times as far.
    return np.stack([np.average(private.embeddings[row], axis=0, weights=shares[row]) for row in rows])


def exponential_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """Return the lift of a draw by ``exp(ε u / 2)`` if the utility u is 1 for the best tenth and 0 for the rest."""
    return drawn_lift(float(events[0].value) / 2, best_tenth(scope.candidates), scope)


def moving_centres(relation: Relation) -> WorstCase:
    """Return neighbouring datasets between which one class's centre moves from east to west.

    If the unit that differs changes its class, the other class's centre moves back from west to east. One candidate in
    four becomes worse and three become better. Both the score of this candidate and the sum by which its probability is
    divided then change to its disadvantage.
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
    summary="PCEvolve: class centres, a contrastive filter, a similarity calibrator and the exponential "
    "mechanism",
    guarantee=(
        "pure epsilon-DP (delta = 0). Every draw has a utility in [0, 1] (sensitivity 1) and costs "
        "epsilon/(iterations x classes), and all draws compose sequentially. The same epsilon holds under "
        "replace-one and add-remove, because the factor 1/2 of the exponential mechanism is kept"
    ),
    selector=Contrastive,
    tight=exponential_per_class,
    lift=exponential_lift,
    # One score may rise from 0 to 1 while another falls from 1 to 0.
    sensitivity=Sensitivity(lambda relation: 2.0, "utilities"),
    worst_case=moving_centres,
)
