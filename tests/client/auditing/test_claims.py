"""No field of a plan is a free word: it is absent, it shows in what an audit checks, or it is listed as a claim."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from leaks.forgeries.forging import edited, write_into
from pcevolve.auditing import Audit, find_encoder
from pcevolve.auditing.claims import list_claims
from pcevolve.errors import ModelError, ProviderReplyError, UsageError
from pcevolve.public.clinics.owners import spell_key
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.evolution import Ask, evolve
from pcevolve.public.lineage import Pool
from pcevolve.public.methods import SecretEvolution
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Choice, Chosen, Query, Receipt
from pcevolve.public.selectors import METHODS, find_method
from pcevolve.wire.providers import dialect
from pcevolve.wire.providers.dialect import find_misstatements
from support.comfyui import UPLOADED, WORKFLOW
from support.paid import make_paid_run
from support.plans import CASES, PROMPTS, plan_of
from support.provider import png
from support.runs import Silent, small_plan

OTHERS: dict[str, list[Any]] = {
    "format": [2], "run_id": ["f" * 32], "provider.seed": [8],
    "provider.workflow": (WORKFLOW.replace("blurred", "patient 17"),),
    "provider.operator": ["patient 17"], "provider.retention": ["patient 17"], "provider.api": ["http://127.0.0.1:8"],
    "provider.dialect": [*ABILITIES], "provider.model": ["other"],
    "method.name": [*METHODS], "method.strength_start": [0.5], "method.strength_end": [0.5],
    "method.secret_prior": [0.01], "method.secret_bound": [0.1], "method.secret_size": [3],
    "data.domain": ["cells"], "labels": [["cut", "fine"]], "data.words": [["a", "b"], ["x", "y"]],
    "provider.prompt_template": ["{domain}, {label}"], "provider.prompts": [PROMPTS, [[], []]],
    "provider.answered_by": ["other"],
    "method.candidates": [12, 3], "method.initial": [6, 40], "method.prototypes": [1, 2, 3],
    "method.min_usable": [0.3], "method.lookahead": [0, 2],
    "method.more": [0, 2], "method.pool": ["latest", "survivors", "all"], "method.keep": ["last", "selected"],
    "method.appearance": ["as-is", "matched", "auto"], "centre_first": [True, False],
    "method.threshold": [0.5],
    "method.threshold_end": [0.25], "method.votes": [3], "method.class_counts": [True, False],
    "method.cells": [2, 3, None], "method.tau": [5.0],
    "method.selection": ["rank", "prob"], "method.variations": [1, 2, 3],
    "method.calibration": ["published", "tight"],
    "method.iterations": [1, 3], "method.strengths": [[0.8, 0.5], [0.9], []], "method.vary_by": ["image",
    "prompt"],
    "method.vary_with": ["own prompt", "template"], "provider.batch": [1, 33], "provider.at_once": [5],
    "privacy.relation": ["add-remove"],
    "unit": ["patient"], "data.unit_size": [4], "namespaced": [True], "data.shots": [11],
    "data.subsample": [10, 11],
    "data.window": ["0,255"], "privacy.epsilon": ["9", "20/2"], "privacy.delta": [0.0, 1e-6],
    "encoder.name": ["words", "bundled", "other", ""],
    "encoder.frame": ["0" * 64, None], "encoder.weights": ["0" * 64, None],
    "provider.image_hosts": [["a.example"]],
    "noise": ["INSECURE-seeded"], "privacy.forget_insecure": [True],
    "earlier": [{"releases": 3, "events": [{"mechanism": "gaussian", "parameter": "17", "count": 1}]}],
    "start": [{"manifest": "5" * 64, "images": [["6" * 64], ["7" * 64]]}],
    "clinics": [{"owners": [{"name": name, "shots": 5, "key": spell_key(name.encode() * 64)} for name in "ab"]}],
    "library": [{"images": 3}], "exact": ["no"], "confinement": [{"by": "containers"}], "output.licence": ["mit"],
    "secrecy": [{"prior": 0.001, "bound": 0.1, "most": 3}, None],
    "modality.kind": ["image", "text"], "modality.negative_prompt": ["blur"],
    "modality.guidance": [3.0, None],
    "modality.steps": [7, None], "modality.sampler": ["euler"], "modality.adapter": ["ip"],
    "modality.adapter_scale": [0.5], "modality.width": [24], "modality.height": [24],
    "modality.sized": [True, False], "modality.graded": [True, False], "modality.tokens": [41],
    "modality.temperature": [0.5, None], "modality.fields": [["seed="], ["max_tokens=most"]],
}  # fmt: skip
"""Other values of every field, of a plan's part about images or texts under ``modality``."""
COMPARED_WITH_THE_GREETING = {"library", "exact"}
"""``tests/client/auditing`` has forged ones."""


def with_value(plan: PublicPlan, name: str, value: object) -> PublicPlan:
    """A plan read from a record that says something else; ``ValidationError`` if none can say it."""
    written = plan.model_dump(mode="json")
    part, _, key = name.rpartition(".")
    (written.setdefault(part, {}) if part else written)[key] = value
    if name == "method.iterations":  # the other half of one statement
        written["method"]["strengths"] = [0.8] * int(str(value)) if plan.method.strengths else []
    return PublicPlan.model_validate_json(json.dumps(written))


@dataclass
class Imagined:
    """A provider of digests, and a judge that takes the first; ``seen`` is what an audit would compare."""

    plan: PublicPlan
    seen: list[Any] = field(default_factory=list)

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        """Spell each request as it would leave."""
        for call, source in asks:
            image = (
                None if source is None or self.plan.varies_prompts else self._image(source.candidate.digest)
            )
            spoken = dialect(self.plan.provider.dialect)
            self.seen.append(spoken.encode(self.plan, call, image))
            with suppress(ProviderReplyError):  # of all others it is no answer
                self.seen.append(spoken.follow_up(self.plan, call, [UPLOADED]))
            parent = None if source is None else source.candidate.id
            made = [f"{call.slot}/{place}".encode() for place in range(call.count)]
            yield tuple(Candidate.received(call, place, parent, each) for place, each in enumerate(made))

    def _image(self, digest: str) -> bytes:
        return (
            png(int(digest[:4], 16))
            if self.plan.modality.kind == "image"
            else f"some words {digest}".encode()
        )

    def show(self, query: Query, pool: Pool) -> None:
        """Nothing to prepare."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Note what there is to choose from."""
        self.seen.append([[each.id for each in of_class] for of_class in pool.candidates.values()])
        wanted = self.plan.wanted(query.iteration)
        choices = tuple(
            Choice(label, tuple(Chosen(each.id, each.digest) for each in (of_class * wanted)[:wanted]))
            for label, of_class in pool.candidates.items()
        )
        return Receipt(
            self.plan.run_id, query.iteration, choices if wanted else (), (), self.plan.privacy.relation
        )


@cache
def show(plan: PublicPlan) -> tuple[Any, ...]:
    """All that an audit holds against requests, receipts and release of a plan, and why the plan is refused."""
    spoken = dialect(plan.provider.dialect) if plan.provider.dialect in ABILITIES else None
    if spoken is None or spoken.abilities.makes != plan.modality.kind or [*find_misstatements(spoken, plan)]:
        return ("refused",)
    try:
        events = find_method(plan.method.name).plan_events(plan)
    except UsageError:
        return ("refused",)
    imagined = Imagined(plan)
    evolve(plan, imagined, imagined, Silent(), lambda digest: digest)
    opened = (plan.run_id, plan.provider.api, plan.provider.dialect, plan.provider.model)
    # What was measured has to be of so many cells, and in this frame.
    measured = (plan.method.of(SecretEvolution).cells, plan.encoder.frame)
    return (opened, events, tuple(map(repr, imagined.seen)), plan.method.appearance, measured)


@cache
def is_at_hand(plan: PublicPlan) -> bool:
    """True if the encoder that a plan names is, in the very weights."""
    try:
        return not plan.encoder.name or find_encoder(plan) is not None
    except ModelError:
        return False


OF_VARYING = {"method.vary_by", "method.prototypes"}
"""Where an API varies no image, requests do not show these: the receipts and the second check do."""


@pytest.mark.parametrize(("method", "spoken"), CASES)
def test_no_field_of_a_plan_is_a_free_word(method: str, spoken: str):
    plan = plan_of(method, spoken)
    assert show(plan) != ("refused",)
    sections = ("data", "privacy", "method", "provider", "encoder", "output", "modality")
    names = {*PublicPlan.model_fields} - {*sections}
    names |= {f"{each}.{name}" for each in sections for name in type(getattr(plan, each)).model_fields}
    assert names <= OTHERS.keys()
    if "vary" not in ABILITIES[spoken].capabilities:
        names -= OF_VARYING
    claims, written, free = list_claims(plan), json.loads(plan.model_dump_json()), []
    for name in sorted(names):
        part, _, key = name.rpartition(".")
        known = (written.get(part, {}) if part else written).get(key)
        for value in OTHERS[name]:
            if json.loads(json.dumps(value)) == known or name in claims or name in COMPARED_WITH_THE_GREETING:
                continue
            try:
                other = with_value(plan, name, value)
            except ValidationError:
                continue
            if name.startswith("encoder.") and not is_at_hand(other):
                continue
            if other != plan and show(other) == show(plan):
                free.append((name, value))
    assert free == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"encoder": {"frame": None}}, "edited"),  # its default, spelled out
        ({"method": {"tau": 3.7}}, "damaged"),
        ({"method": {"threshold": 0.123}}, "damaged"),
        ({"data": {"unit_size": 1234}}, "damaged"),
        ({"encoder": {"name": "patient 17"}}, "damaged"),
        ({"earlier": {"releases": 17, "events": []}}, "damaged"),
        ({"privacy": {"epsilon": "20/2"}}, "damaged"),
        ({"provider": {"answered_by": "patient-17"}}, "no answer named that model"),
    ],
)
def test_a_control_s_plan_with_a_word_that_means_nothing_is_refused(
    tmp_path: Path, changes: dict[str, Any], fault: str
):
    root = make_paid_run(tmp_path / "run", small_plan())
    assert Audit.of(root).holds
    edited("planned", lambda event: write_into(event["plan"], changes))(root)
    assert any(fault in each for each in Audit.of(root).faults), Audit.of(root).faults


def test_an_audit_lists_what_is_the_owner_s_word(tmp_path: Path):
    root = make_paid_run(tmp_path / "run", small_plan(licence="mit", min_usable=0.3))
    claims, due = (
        Audit.of(root).claims,
        {"output.licence": "mit", "method.min_usable": 0.3, "data.shots": 10, "unit": "image"},
    )
    assert claims.items() >= due.items()
    assert not claims.keys() & {"method.tau", "method.votes", "earlier", "data.unit_size"}
