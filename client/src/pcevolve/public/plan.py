"""The public plan of a run: facts that may be known in advance, and every call that follows from them.

Nothing here is computed from private data. Two private datasets with the same public description therefore
have the same plan, and the same requests in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from pcevolve.public.calls import Call, PlanCalls
from pcevolve.public.canonical import drop, find_unused_values, list_unused
from pcevolve.public.clinics.owners import SUMS
from pcevolve.public.fields import PlanFields
from pcevolve.public.words import choose_labels, find_label_faults

FROM_RELEASE: Final = "from-release"
"""The method of a run that starts from a release and varies it. A user cannot select it by name."""
FEWEST_WORDINGS: Final = 2
"""Smallest number of prompts per class among which there is a choice."""
_NAMED = 5  # most labels that one error names


def require_consistent(plan: PlanFields) -> None:
    """Refuse a plan whose parts contradict each other (``ValueError`` with the first fault)."""
    fault = next((fault for rule in _RULES for fault in rule(plan)), None)
    if fault is not None:
        raise ValueError(fault)


def _of_variations(plan: PlanFields) -> Iterator[str]:
    """Yield faults of variations."""
    if len(plan.method.strengths) != (plan.method.iterations if plan.grades_variations else 0):
        yield "strengths: one per iteration is needed, and none where the API is asked for none"
    if plan.has_adapter and not plan.method.iterations and plan.start is None:
        yield "adapter: it needs rounds of variation, in which prototypes are the image prompts"
    if plan.varies_prompts and (plan.wordings < FEWEST_WORDINGS or plan.has_adapter):
        yield f"vary-by: {plan.method.vary_by} needs provider.prompts, two at least for each class, and no adapter"


def _of_counts(plan: PlanFields) -> Iterator[str]:
    """Yield faults of releases other than releases of prototypes."""
    if plan.class_counts and len(plan.labels) == 1:
        yield "class-counts: one class has no proportions, so its number is not asked for"


def _of_words(plan: PlanFields) -> Iterator[str]:
    """Yield faults of labels, and of prompts made from them."""
    if faults := find_label_faults(plan.labels):
        yield f"labels: {'; '.join(faults[:_NAMED])}"
    if "{label}" not in plan.provider.prompt_template and len(plan.labels) > 1:
        yield "prompt-template: '{label}' is missing, so all classes would get the same prompt"
    if plan.data.words and plan.labels != choose_labels(plan.data.words):
        yield "data.words: every class needs some, and no other name in the plan than its words give"
    if (
        len(plan.labels) > 1
        and len(set(plan.data.words)) == 1
        and not plan.provider.prompts
        and plan.start is None
    ):
        yield "data.words: they are the same for all classes, so all would get the same prompt"
    prompts = plan.provider.prompts
    if prompts and {len(each) for each in prompts} != {max(plan.wordings, 1)}:
        yield "prompts: every class needs as many as every other, and one at least"
    if prompts and (len(prompts) != len(plan.labels) or plan.wordings > plan.method.initial):
        yield "prompts: each class needs some, and none of them more than its first images"


def _of_looks(plan: PlanFields) -> Iterator[str]:
    """Yield faults of the appearance of released images."""
    if plan.modality.refuses_looks and plan.method.appearance != "as-is":
        yield plan.modality.refuses_looks
    if plan.method.appearance == "auto" and plan.method.keep != "selected":
        yield (
            "appearance: auto is settled when the dataset is selected from all rounds, as dp-means does: say "
            "matched or as-is"
        )


def _of_sizes(plan: PlanFields) -> Iterator[str]:
    """Yield faults of sizes and numbers."""
    if plan.data.subsample not in (None, plan.data.shots):
        yield "subsample: so many units of each class are drawn, and --shots says another number"
    if plan.secrecy is not None and plan.data.subsample is not None and plan.unit == plan.modality.kind:
        # A text's place in the draw is a hash of its words. If its secret changed, another text with a vote could
        # take its place.
        yield (
            "subsample: a text is drawn by its own words, so nothing can be promised of secrets in it; name its unit "
            "with data.unit_column, or leave one of the two out"
        )
    if plan.namespaced and plan.unit == plan.modality.kind:
        yield "data.unit_namespace: single images and texts have no names"
    if (
        not (plan.method.iterations or plan.selects or plan.start)
        and plan.method.candidates != plan.method.initial
    ):
        yield "candidates: without rounds the first images are the dataset, so there are as many"
    if plan.method.candidates % plan.method.prototypes:
        yield "candidates: must be a multiple of the prototypes per class"
    if plan.variations > 1 and plan.method.keep != "selected":
        yield "variations: rounds larger than the dataset need a dataset that is selected from them"
    if plan.method.keep == "selected" and plan.method.more:
        yield "more: a dataset that is selected from all rounds cannot be extended"


def _of_start(plan: PlanFields) -> Iterator[str]:
    """Yield faults of a run that starts from a release. It varies the release once and chooses nothing."""
    if (plan.method.name == FROM_RELEASE) != (plan.start is not None):
        yield f"start: a run that starts from a release is of method {FROM_RELEASE}, and no other is"
    if plan.start is None:
        return
    rounds = (
        plan.method.iterations
        or plan.method.lookahead
        or plan.method.more
        or plan.releases
        or plan.varies_prompts
    )
    if (
        rounds
        or plan.selects
        or plan.method.initial != plan.method.candidates
        or plan.provider.prompts
        or plan.class_counts
    ):
        yield "start: a run that starts from a release has no rounds, releases and prompts of its own"
    if len(plan.start.images) != len(plan.labels):
        yield "start: every class needs an image of the release that the run starts from"
    if (plan.start.strength is not None) != plan.grades_variations:
        yield "start: variations need a strength, and none where the API is asked for none"


def _of_clinics(plan: PlanFields) -> Iterator[str]:
    """Yield faults of a run of several owners, whose summed answers make each release."""
    if plan.clinics is None:
        return
    # A run that starts from the owners' release chooses nothing, and repeats the release's promise.
    if plan.start is None and plan.method.name not in SUMS:
        yield (
            f"clinics: the owners' answers are added up, and what method {plan.method.name} draws is no sum: choose "
            f"{', '.join(SUMS)}"
        )
    if plan.data.shots != plan.clinics.shots:
        yield "clinics: shots are those of all owners together"
    if (
        plan.data.subsample is not None
        or plan.secrecy is not None
        or plan.namespaced
        or plan.earlier.releases
    ):
        yield "clinics: nothing is drawn from an owner's data, and no list of secrets or ledger speaks for all"
    if not plan.secure:
        yield "clinics: noise from a seed would take away every owner's"


def _of_form(plan: PlanFields) -> Iterator[str]:
    """Yield fields that do not apply to this plan; they would be free text on a shared record."""
    for name in find_unused_values(plan):
        yield f"{name}: it means nothing with this method, data and sizes: leave it out"
    if not plan.encoder.name and plan.start is None and "encoder.name" not in list_unused(plan):
        yield "encoder: this method looks at private data, and needs one"
    if str(plan.budget.epsilon) != plan.privacy.epsilon:
        yield "epsilon: it must be a fraction in lowest terms"


_RULES: Final[tuple[Callable[[PlanFields], Iterator[str]], ...]] = (
    _of_variations,
    _of_counts,
    _of_looks,
    _of_words,
    _of_sizes,
    _of_start,
    _of_clinics,
    _of_form,
)


class PublicPlan(PlanCalls):
    """The complete public description of a run, for the provider, an auditor and the reader of the result."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_consistent(self)
        return self

    @model_serializer(mode="wrap")
    def _without_unused(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return drop(write(self), list_unused(self))

    def prompt_of(self, call: Call) -> str:
        """Return the text prompt of a call. A class's ``prompts`` share its first images equally, in order."""
        if call.wording is None:
            return self.prompt(call.label)
        return self.provider.prompts[self.labels.index(call.label)][call.wording]

    @cached_property
    def calls(self) -> Mapping[str, Call]:
        """Every call of the run by slot, in sending order."""
        return MappingProxyType({call.slot: call for call in self._all_calls()})
