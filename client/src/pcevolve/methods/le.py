"""LE: text-to-image by a prompt for each image, as a language model would write it (PCEvolve, section 5.1)."""

from __future__ import annotations

from pcevolve.methods.lift import uniform_lift
from pcevolve.methods.method import Method, always
from pcevolve.methods.rounds import free_draws

METHOD = Method(
    name="le",
    summary="text-to-image by a prompt of its own for each image (--prompts): private data never looked at",
    guarantee="0-DP: nothing depends on the private data, under either neighbour relation",
    selector=None,
    tight=free_draws,
    lift=uniform_lift,
    rounds=always(0),
    reworded=True,
    varies=False,
)
