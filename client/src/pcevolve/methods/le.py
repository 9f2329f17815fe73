"""LE: text-to-image by several prompts for each class (baseline of the PCEvolve paper, section 5.1)."""

from __future__ import annotations

from pcevolve.methods.lift import uniform_lift
from pcevolve.methods.method import Method, always
from pcevolve.methods.rounds import free_draws

METHOD = Method(
    name="le",
    summary="text-to-image by several prompts for each class (--prompts): private data never looked at",
    guarantee="0-DP: nothing depends on the private data, under either neighbour relation",
    selector=None,
    tight=free_draws,
    lift=uniform_lift,
    rounds=always(0),
    reworded=True,
    varies=False,
)
