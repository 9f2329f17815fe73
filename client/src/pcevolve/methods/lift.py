"""What a budget buys: how likely a chosen prototype is of the best tenth, under a utility that no real one beats.

A uniform draw has a lift of one tenth. Each family of methods has its own ideal: all nominal shots agree on the best
tenth of the candidates, and on nothing else. Public numbers only; no private data.
"""

from __future__ import annotations

import math

from pcevolve.dp.sensitivity import (
    draw_rate,
    histogram_sensitivity,
)
from pcevolve.methods.centre_first import means_noise
from pcevolve.methods.rounds import Scope
from pcevolve.privacy import Event


def best_tenth(candidates: int) -> int:
    """How many candidates the best tenth are: at least one."""
    return math.ceil(candidates / 10)


def uniform_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """A uniform draw: the best tenth's share of the candidates, 0.1 where ten divides them."""
    return best_tenth(scope.candidates) / scope.candidates


def exponential_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """PCEvolve: utility 1 for the best tenth and 0 for the rest, drawn with ``exp(ε u / 2)``.

    Args:
        events: Those of one round that pays.
        scope: Public sizes.
    """
    return _drawn(float(events[0].value) / 2, best_tenth(scope.candidates), scope)


def joint_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """JVEM: all K images of a class vote 1 for tuples that take its prototype from the best tenth, 0 for others.

    The ideal total is then a sum over classes, so each class's share of the block's draw is a draw of its own with
    ``exp(η K)`` for the best tenth.
    """
    return _drawn(
        float(draw_rate(events[0], scope.relation)) * scope.shots, best_tenth(scope.candidates), scope
    )


def draws_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """PE-EM: the K votes spread evenly over the best tenth, one each at least, drawn with ``exp(η votes)``."""
    voted, votes = _spread(scope)
    return _drawn(float(draw_rate(events[0], scope.relation)) * votes, voted, scope)


def histogram_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """PE: the K votes spread evenly over the best tenth, one each at least; its share of the noisy histogram.

    The share is of expectations: a bin with v votes keeps ``E max(v + N(0, σ²) - H, 0)``, at H = 0. The votes are the
    last access of their round.
    """
    voted, votes = _spread(scope)
    best = best_tenth(scope.candidates)
    sigma = float(events[-1].value) * histogram_sensitivity(scope.relation)
    empty = kept_votes(0.0, sigma)
    good = voted * kept_votes(votes, sigma) + (best - voted) * empty
    return good / (good + (scope.candidates - best) * empty)


def means_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """DP class means: a candidate at the private mean is among the tenth that lies in the released mean's direction.

    All candidates lie on the sphere of the clip radius r round the centre (R round a public one, R/2 round one that is
    released first), the best tenth at the private mean, the rest in random directions of many coordinates; as many are
    chosen as are best, so this share of the best that are chosen is the share of the chosen that are best. With noise
    s·r on each coordinate of the mean, the projection of a candidate on the released mean is normal, shifted by 1/s
    for the best: ``Φ(1/s - Φ⁻¹(0.9))``. The centre's own noise moves all candidates alike and is left out.
    """
    from scipy.special import ndtr, ndtri

    noise = means_noise(events, scope)
    share = best_tenth(scope.candidates) / scope.candidates
    return float(ndtr(1 / noise - ndtri(1 - share)))


def kept_votes(votes: float, sigma: float) -> float:
    """``E max(v + N(0, σ²), 0) = v Φ(v/σ) + σ φ(v/σ)``."""
    from scipy.special import ndtr

    ratio = votes / sigma
    return float(votes * ndtr(ratio) + sigma * math.exp(-(ratio**2) / 2) / math.sqrt(2 * math.pi))


def _spread(scope: Scope) -> tuple[int, float]:
    """How many of the best tenth get votes, and how many each."""
    voted = min(best_tenth(scope.candidates), scope.shots)
    return voted, scope.shots / voted


def _drawn(advantage: float, favoured: int, scope: Scope) -> float:
    """Probability of the best tenth where ``favoured`` of them have odds ``e^advantage`` and all others 1."""
    best = best_tenth(scope.candidates)
    unit = math.exp(-advantage)  # odds relative to the favoured cannot overflow
    good = favoured + (best - favoured) * unit
    return good / (good + (scope.candidates - best) * unit)
