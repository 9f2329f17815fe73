"""Text-to-image only (baseline B of the paper): the prompt's images, as they come."""

from __future__ import annotations

from pcevolve.methods.lift import uniform_lift
from pcevolve.methods.method import Method, always
from pcevolve.methods.rounds import free_draws

METHOD = Method(
    name="t2i",
    summary="text-to-image only: no evolution, private data never looked at",
    guarantee="0-DP: nothing depends on the private data, under either neighbour relation",
    selector=None,
    tight=free_draws,
    lift=uniform_lift,
    rounds=always(0),
    varies=False,
)
