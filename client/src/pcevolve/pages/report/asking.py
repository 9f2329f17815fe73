"""How the provider was asked, setting by setting."""

from __future__ import annotations

from pcevolve.public.modalities import Images, Texts
from pcevolve.public.plan import PublicPlan

Settings = list[tuple[str, object]]


def settings_of(plan: PublicPlan) -> Settings:
    """The settings of a plan beside its prompts, in words."""
    made = plan.modality
    return [
        *([("Negative prompt", made.negative_prompt or "none")] if isinstance(made, Images) else []),
        ("Model", plan.model),
        ("Address", plan.api),
        ("Dialect", plan.dialect),
        *(_of_texts(made) if isinstance(made, Texts) else _of_images(made)),
        ("Candidates per class", plan.candidates),
        ("Prototypes per class", plan.prototypes),
        ("Images per request, at most", plan.batch),
        ("Encoder", plan.encoder),
        ("Public seed", plan.run_seed),
        ("Run", plan.run_id),
    ]


def _of_images(made: Images) -> Settings:
    return [
        ("Size", f"{made.width} × {made.height} pixels"),
        ("Steps", made.steps),
        ("Guidance scale", made.guidance),
    ]


def _of_texts(made: Texts) -> Settings:
    return [("Tokens of a text, at most", made.tokens), ("Temperature", made.temperature)]
