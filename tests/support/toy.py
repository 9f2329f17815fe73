"""A method of ten minutes' work: all that a new one takes is a file like this and a line in the registry.

Private images vote for the candidate of their class that is nearest by its largest coordinate, and one candidate of
each class is drawn by the votes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcevolve.public.dp.calibration import draw_rate
from pcevolve.public.dp.mechanisms import Noise
from pcevolve.public.privacy import Event, Events, Relation
from pcevolve.public.selectors import Measurement, Method, PrivateEmbeddings, Scope, SelectionInput
from pcevolve.public.selectors.consistency import Drawn
from pcevolve.public.selectors.method import Sensitivity
from pcevolve.public.selectors.rounds import drawn_lift, exponential_draws
from pcevolve.public.selectors.selection import WorstCase, require_mechanism, single_event


@dataclass(frozen=True)
class Toy(Drawn):
    """A unit adds at most 1 vote in one class: b-bounded-range at the rate b, or b / 2 where units are replaced."""

    def measure(
        self, private: PrivateEmbeddings, scene: SelectionInput, events: Events, noise: Noise
    ) -> Measurement:
        event = single_event(events)
        require_mechanism(event, "exponential")
        rate, chosen = draw_rate(event, scene.relation), []
        for target, label in enumerate(scene.labels):
            eligible, rows = scene.eligible(target), private.targets == target
            gaps = private.embeddings[rows][:, None] - np.nan_to_num(scene.pools[target][eligible])
            nearest = np.abs(gaps).max(axis=2).argmin(axis=1)
            votes = np.bincount(nearest, private.shares[rows], minlength=len(eligible))
            chosen.append(eligible[noise.exponential(f"{scene.key}/{label}", votes, rate)])
        return {"chosen": np.array(chosen, dtype=np.int64)}


def lift(events: tuple[Event, ...], scope: Scope) -> float:
    """All K images vote for one of the best tenth."""
    return drawn_lift(float(draw_rate(events[0], scope.relation)) * scope.shots, 1, scope)


def worst_case(relation: Relation) -> WorstCase:
    """One candidate of four has the unit's vote, or another has it."""
    east, west, north, south = (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)
    return WorstCase(
        pools=((east, west), (north, south)),
        common=((0, west), (1, north)),
        first=(0, east),
        second=(0, west) if relation == "replace-one" else None,
    )


METHOD = Method(
    name="toy",
    summary="a toy: votes by the largest coordinate, one draw for each class",
    guarantee="one draw per round, eta-bounded-range under add-remove and 2 eta under replace-one",
    selector=Toy,
    tight=exponential_draws(1),
    lift=lift,
    sensitivity=Sensitivity(lambda relation: 1.0 if relation == "add-remove" else 2.0, "votes"),
    worst_case=worst_case,
)
