"""Controls and what follows a release, which never look at private data, and luck, to which every lift is compared.

``random`` is PCEvolve's loop with a uniform draw: it costs nothing, and every result is compared with it. ``t2i`` is
text-to-image alone (baseline B of the paper): the prompt's images, as they come.

A lift is how likely a chosen prototype is of the best tenth, under a utility that no real one beats. Each family of
methods has its own ideal: all nominal shots agree on the best tenth of the candidates, and on nothing else.
"""

from __future__ import annotations

import math

from pcevolve.public.plan import FROM_RELEASE
from pcevolve.public.privacy import Event
from pcevolve.public.selectors.method import Method, always
from pcevolve.public.selectors.rounds import Scope, free_draws


def best_tenth(candidates: int) -> int:
    """Return the number of candidates in the best tenth: at least one."""
    return math.ceil(candidates / 10)


def uniform_lift(events: tuple[Event, ...], scope: Scope) -> float:
    """A uniform draw: the best tenth's share of the candidates, 0.1 where ten divides them."""
    return best_tenth(scope.candidates) / scope.candidates


def drawn_lift(advantage: float, favoured: int, scope: Scope) -> float:
    """Probability of the best tenth where ``favoured`` of them have odds ``e^advantage`` and all others 1."""
    best = best_tenth(scope.candidates)
    unit = math.exp(-advantage)  # odds relative to the favoured cannot overflow
    good = favoured + (best - favoured) * unit
    return good / (good + (scope.candidates - best) * unit)


RANDOM = Method(
    name="random",
    summary="random control: the same loop, prototypes drawn uniformly, private data never looked at",
    guarantee="0-DP: no draw depends on the private data, under either neighbour relation",
    selector=None,  # ``private.judge.UniformJudge`` draws
    tight=free_draws,
    lift=uniform_lift,
)

TEXT_TO_IMAGE = Method(
    name="t2i",
    summary="prompts alone: no evolution, private data never looked at",
    guarantee="0-DP: nothing depends on the private data, under either neighbour relation",
    selector=None,
    tight=free_draws,
    lift=uniform_lift,
    rounds=always(0),
    varies=False,
)

FOLLOWING = Method(
    name=FROM_RELEASE,
    summary="variations of a release: private data never looked at",
    guarantee="post-processing of a release, whose promise covers it: nothing was asked of the private data again",
    selector=None,
    tight=free_draws,
    lift=uniform_lift,
    rounds=always(0),
)
"""Of a run that starts from a release; in no list of methods, for a run is given it by ``--from``."""
