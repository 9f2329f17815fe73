"""The price of releasing a centre before class means, a part of the same budget, and the noise left on the means."""

from __future__ import annotations

from pcevolve.dp.sensitivity import bounded_sum_sensitivity
from pcevolve.methods.rounds import Rounds, Scope, divided
from pcevolve.privacy import Events

CENTRE_SHARE = 0.2
"""Of the means' budget, as 1/z²: the centre is pooled over all classes, so a small share tells enough."""


def with_centre(rounds: Rounds) -> Rounds:
    """Rounds in which every Gaussian access is two, the centre's and the deviations', for the price of the one."""
    return tuple(
        tuple(part for event in events for part in divided(event, CENTRE_SHARE)) for events in rounds
    )


def means_noise(events: Events, scope: Scope) -> float:
    """Standard deviation of the noise on each coordinate of a class mean, in clip radii of what is summed.

    Args:
        events: Those of the round that releases the means: one, clipped to R, or a centre's and then the deviations',
            clipped to R/2; one of them looks at private data.
        scope: Public sizes of the run.
    """
    last = [event for event in events if not event.free][-1]
    return float(last.value) * bounded_sum_sensitivity(scope.relation) / scope.shots
