"""GCap: text-to-image by captions of private images, which go to the provider as they are (PCEvolve, appendix A.3)."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pcevolve.public.loop.lineage import Population
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Choice, Chosen
from pcevolve.public.words import put_in_one_line
from pcevolve_benchmarks.baselines.places import draw_places, one_round, place_id
from pcevolve_benchmarks.baselines.session import (
    Baseline,
    BaselineAccess,
    BaselineImages,
    BaselineSession,
    Round,
    replan,
)
from pcevolve_benchmarks.captioners import captioner

LONGEST: Final = 400
"""Characters of a caption."""
NOTHING_SAID: Final = "no description"
"""Caption of an image of which a captioner says nothing that can be shown."""
ROUND: Final = "0001"
"""Public name of the one round, for the noise's keys."""
Captions = tuple[tuple[str, ...], ...]
"""Of each class, as many as the plan has prototypes."""


def one_caption(said: str) -> str:
    """Turn a captioner's words into a caption: one line of visible characters, cut to ``LONGEST``, never empty."""
    words = put_in_one_line(unicodedata.normalize("NFC", said))[:LONGEST].strip()
    return words or NOTHING_SAID


def _carry_out(session: BaselineSession) -> BaselineImages:
    """Caption the images, and ask for new ones by each caption."""
    plan = session.plan
    captions = _captions(session)
    choices = tuple(
        Choice(
            label,
            tuple(
                Chosen(place_id(target, index), hashlib.sha256(caption.encode()).hexdigest())
                for index, caption in enumerate(captions[target])
            ),
        )
        for target, label in enumerate(plan.labels)
    )
    sender = session.sender.with_plan(add_captions(plan, captions))
    dataset: Population = dict.fromkeys(plan.labels, ())
    for call in plan.round(1):
        parent = choices[plan.labels.index(call.label)].chosen[call.parent or 0].id
        made = sender.make(replace(call, strength=None, wording=call.parent), None, parent)
        dataset = {**dataset, call.label: (*dataset[call.label], *made)}
    return BaselineImages(dataset, (dataset,), (Round(1, choices, session.accesses[1]),))


def add_captions(plan: PublicPlan, captions: Captions) -> PublicPlan:
    """A plan whose prompts are the classes' own, each with a caption behind it."""
    prompts = tuple(
        tuple(f"{plan.prompt(label)}, {caption}" for caption in of_class)
        for label, of_class in zip(plan.labels, captions, strict=True)
    )
    return replan(plan, provider=plan.provider.model_copy(update={"prompts": prompts}))


def _captions(session: BaselineSession) -> Captions:
    plan, data = session.plan, session.components.data
    says = captioner(session.options.get("captioner"))
    places = draw_places(
        data.targets, data.unit_of, len(plan.labels), plan.method.prototypes, session.components.noise, ROUND
    )
    return tuple(
        _of_class(
            says.captions([data.items[place] for place in of_class if place >= 0]), plan.method.prototypes
        )
        for of_class in places.tolist()
    )


def _of_class(said: Sequence[str], wanted: int) -> tuple[str, ...]:
    """As many captions as are wanted: those of some images, again and again where they are fewer."""
    captions = [one_caption(each) for each in said] or [NOTHING_SAID]
    return tuple(captions[place % len(captions)] for place in range(wanted))


BASELINE = Baseline(
    name="gcap",
    summary="text-to-image by captions of private images, which leave as prompts",
    protects="nothing: captions of private images leave as prompts, without any noise",
    base="random",
    accesses=lambda budget, scope: ((BaselineAccess("unprotected"),),),
    carry_out=_carry_out,
    paid=False,
    compares=False,
    usual=one_round,
    own=frozenset({"captioner"}),
)
