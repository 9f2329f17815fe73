"""Control methods, and the method of runs that start from a release. None of them reads private data.

``random`` is PCEvolve's loop with a uniform draw. It costs nothing and is the baseline for every result. ``t2i`` is
text-to-image alone (baseline B of the paper): it keeps all images that the prompt gives, without selection.
"""

from __future__ import annotations

from pcevolve.public.plan import FROM_RELEASE
from pcevolve.public.selectors.method import Method, always
from pcevolve.public.selectors.rounds import free_draws, uniform_lift

RANDOM = Method(
    name="random",
    summary="Random control: the same loop with uniformly drawn prototypes; the private data are not used",
    guarantee="0-DP: no draw depends on the private data, under either neighbour relation",
    selector=None,  # ``private.judge.UniformJudge`` draws
    tight=free_draws,
    lift=uniform_lift,
)

TEXT_TO_IMAGE = Method(
    name="t2i",
    summary="Prompts alone: no evolution; the private data are not used",
    guarantee="0-DP: nothing depends on the private data, under either neighbour relation",
    selector=None,
    tight=free_draws,
    lift=uniform_lift,
    rounds=always(0),
    varies=False,
)

FOLLOWING = Method(
    name=FROM_RELEASE,
    summary="Variations of a release; the private data are not used",
    guarantee="post-processing of an earlier release, whose guarantee covers it. The private data were not used again",
    selector=None,
    tight=free_draws,
    lift=uniform_lift,
    rounds=always(0),
)
"""The method of a run that starts from a release. ``--from`` selects it, and no list of methods contains it."""
