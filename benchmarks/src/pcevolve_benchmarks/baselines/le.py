"""LE: text-to-image by a prompt for each image, as a language model would write it (PCEvolve, section 5.1)."""

from __future__ import annotations

from pcevolve.public.config.files import read_prompts
from pcevolve.public.plan import PublicPlan
from pcevolve.public.words import MOST
from pcevolve_benchmarks.baselines.session import Baseline, replan


def _plan(plan: PublicPlan) -> PublicPlan:
    """A prompt of the grammar for each image, where nobody gives any."""
    if plan.provider.prompts:
        return plan
    prompts = read_prompts(None, min(plan.method.initial, MOST), plan.data.domain, plan.labels)
    return replan(plan, provider=plan.provider.model_copy(update={"prompts": prompts}))


BASELINE = Baseline(
    name="le",
    summary="text-to-image by a prompt of its own for each image (--prompts): private data never looked at",
    protects="everything: nothing depends on the private data",
    base="t2i",
    accesses=lambda budget, scope: (),
    carry_out=lambda session: session.evolve_unseen(),
    looks=False,
    paid=False,
    compares=False,
    planned=_plan,
)
