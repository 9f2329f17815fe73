"""The control: PCEvolve's loop with a uniform draw. Costs nothing; every result is compared with it."""

from __future__ import annotations

from pcevolve.methods.lift import uniform_lift
from pcevolve.methods.method import Method
from pcevolve.methods.rounds import free_draws

METHOD = Method(
    name="random",
    summary="random control: the same loop, prototypes drawn uniformly, private data never looked at",
    guarantee="0-DP: no draw depends on the private data, under either neighbour relation",
    selector=None,
    tight=free_draws,
    lift=uniform_lift,
)
