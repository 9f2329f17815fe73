"""How the provider was asked, setting by setting."""

from __future__ import annotations

from pcevolve.public.modalities import Said
from pcevolve.public.plan import PublicPlan


def settings_of(plan: PublicPlan) -> Said:
    """The settings of a plan beside its prompts, in words."""
    made = plan.modality
    return [
        *made.beside_prompts,
        ("Model", plan.model),
        ("Address", plan.api),
        ("Dialect", plan.dialect),
        *made.said,
        ("Candidates per class", plan.candidates),
        ("Prototypes per class", plan.prototypes),
        (f"{plan.modality.kind.capitalize()}s per request, at most", plan.batch),
        ("Encoder", plan.encoder),
        ("Seed of the public schedule", plan.run_seed),
        ("Run", plan.run_id),
    ]
