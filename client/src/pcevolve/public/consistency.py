"""What parts of a plan do not go together: each rule by itself, with the option that it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pcevolve.public.fields import PlanFields
from pcevolve.public.labels import label_faults

FEWEST_WORDINGS: Final = 2
"""Prompts of a class between which there is something to choose."""
_NAMED = 5  # labels named in one error


def require_consistent(plan: PlanFields) -> None:
    """Refuse a plan whose parts contradict each other.

    Raises:
        ValueError: They do; the first fault is told.
    """
    fault = next((fault for rule in _RULES for fault in rule(plan)), None)
    if fault is not None:
        raise ValueError(fault)


def _of_variations(plan: PlanFields) -> Iterator[str]:
    """What is varied, and how."""
    if len(plan.strengths) != (0 if plan.varies_prompts else plan.iterations):
        yield "strengths: one per iteration is needed, and none where prompts alone are sent"
    if plan.varies_prompts and (plan.wordings < FEWEST_WORDINGS or plan.has_adapter):
        yield "vary-by: prompt needs --prompts, two at least for each class, and no --adapter"


def _of_counts(plan: PlanFields) -> Iterator[str]:
    """What is released of classes beside their prototypes."""
    if plan.class_counts and len(plan.labels) == 1:
        yield "class-counts: one class has no proportions, so its number is not asked for"


def _of_words(plan: PlanFields) -> Iterator[str]:
    """Labels, and prompts made of them."""
    if faults := label_faults(plan.labels):
        yield f"labels: {'; '.join(faults[:_NAMED])}"
    if "{label}" not in plan.prompt_template and len(plan.labels) > 1:
        yield "prompt-template: '{label}' is missing, so all classes would get the same prompt"
    if plan.prompts and {len(each) for each in plan.prompts} != {max(plan.wordings, 1)}:
        yield "prompts: every class needs as many as every other, and one at least"
    if plan.prompts and (len(plan.prompts) != len(plan.labels) or plan.wordings > plan.initial):
        yield "prompts: each class needs some, and none of them more than its first images"


def _of_looks(plan: PlanFields) -> Iterator[str]:
    """How images look in the end."""
    if plan.modality.refuses_looks and plan.appearance != "as-is":
        yield plan.modality.refuses_looks
    if plan.appearance == "auto" and plan.keep != "selected":
        yield (
            "appearance: auto is settled when the dataset is selected from all rounds, as dp-means does: say "
            "matched or as-is"
        )


def _of_sizes(plan: PlanFields) -> Iterator[str]:
    """How many there are of everything."""
    if plan.subsample not in (None, plan.shots):
        yield "subsample: so many units of each class are drawn, and --shots says another number"
    if plan.candidates % plan.prototypes:
        yield "candidates: must be a multiple of the prototypes per class"
    if plan.variations > 1 and plan.keep != "selected":
        yield "variations: rounds larger than the dataset need a dataset that is selected from them"
    if plan.keep == "selected" and plan.more:
        yield "more: a dataset that is selected from all rounds cannot be extended"


_RULES: Final[tuple[Callable[[PlanFields], Iterator[str]], ...]] = (
    _of_variations,
    _of_counts,
    _of_looks,
    _of_words,
    _of_sizes,
)
