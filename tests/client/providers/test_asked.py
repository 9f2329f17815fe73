"""What a plan, and with it every page, says that an API is asked for is what its requests hold."""

from __future__ import annotations

import pytest

from pcevolve.auditing import audit
from pcevolve.egress.policy import Policy
from pcevolve.egress.transport import Address
from pcevolve.errors import EgressError, UsageError
from pcevolve.pages.report.sections import settings_of
from pcevolve.providers import DIALECTS, dialect
from pcevolve.providers.dialect import WireRequest, require
from pcevolve.public.fields import IN_PROCESS
from pcevolve.public.plan import PublicPlan
from support.provider import png
from support.runs import small_plan

CHANGED = {
    "steps": {"steps": 11},
    "guidance": {"guidance": 3.25},
    "size": {"width": 512, "height": 512},
    "negative_prompt": {"negative_prompt": "blur"},
    "adapter": {"adapter": "ip", "adapter_scale": 0.5},
}
"""Another value of every setting of images."""
DRAWING = sorted(name for name, each in DIALECTS.items() if each.makes == "image")


def requests_of(name: str, plan: PublicPlan) -> list[WireRequest]:
    """What a first image and a variation are asked for with."""
    create, vary = next(iter(plan.round(0))), next(iter(plan.round(1)))
    return [dialect(name).encode(plan, create, None), dialect(name).encode(plan, vary, png(1))]


@pytest.mark.parametrize("name", DRAWING)
@pytest.mark.parametrize("setting", sorted(CHANGED))
def test_a_dialect_says_of_each_setting_whether_it_changes_what_is_sent(name: str, setting: str):
    plan = small_plan(dialect=name, steps=50, guidance=7.5, width=1024, height=1024)
    other = small_plan(
        dialect=name, **{"steps": 50, "guidance": 7.5, "width": 1024, "height": 1024, **CHANGED[setting]}
    )
    sent = requests_of(name, plan) != requests_of(name, other)
    assert sent == (setting in dialect(name).capabilities)


@pytest.mark.parametrize("name", DRAWING)
def test_a_dialect_says_whether_it_sends_a_seed_and_a_strength(name: str):
    one, other = small_plan(dialect=name), small_plan(dialect=name, run_seed=8)
    assert (requests_of(name, one)[0] != requests_of(name, other)[0]) == (
        "seed" in dialect(name).capabilities
    )
    other = small_plan(dialect=name, strengths=(0.5, 0.4))
    assert (requests_of(name, one)[1] != requests_of(name, other)[1]) == (
        "strength" in dialect(name).capabilities
    )


@pytest.mark.parametrize(
    ("name", "changes", "said", "rows"),
    [
        ("getimg", {}, "50 steps, guidance 7.5, strength 0.8 (the API recommends nothing)", (50, 7.5)),
        ("stability", {},
         "guidance 7.5, strength 0.8; steps are left to the API (the API recommends nothing)", (None, 7.5)),
        ("openai-plain", {},
         "strength 0.8; steps and guidance are left to the API (the API recommends nothing)", (None, None)),
        ("getimg", {"api": IN_PROCESS},
         "strength 0.8; steps and guidance are left to the API (the API recommends nothing)", (None, None)),
    ],
)  # fmt: skip
def test_only_what_is_sent_is_said_to_be_asked_for(
    name: str, changes: dict[str, object], said: str, rows: tuple
):
    plan = small_plan(dialect=name, **changes)
    assert plan.modality.asked_with("0.8", "") == said
    named = dict(settings_of(plan))
    unasked = "the API's own: it is not asked for any"
    assert (named["Steps"], named["Guidance scale"]) == tuple(
        unasked if each is None else each for each in rows
    )
    assert ("the model's own" in str(named["Size"])) == (name == "stability" or bool(changes))
    assert (plan.images.steps, plan.images.guidance) == rows
    assert PublicPlan.model_validate(plan.model_dump(mode="json")) == plan


@pytest.mark.parametrize(
    ("name", "changes", "fault"),
    [
        ("openai-plain", {"steps": 50}, "the plan says that steps is asked for, and it is not"),
        ("openai-plain", {"guidance": 7.5}, "the plan says that guidance is asked for, and it is not"),
        (
            "openai-plain",
            {"negative_prompt": "blur"},
            "the plan says that negative_prompt is asked for, and it is not",
        ),
        ("stability", {"sized": True}, "the plan says that size is asked for, and it is not"),
        (
            "siliconflow",
            {"adapter": "ip", "adapter_scale": 1.0},
            "the plan says that adapter is asked for, and it is not",
        ),
        ("getimg", {"steps": None}, "the plan says that steps is not asked for, and it is"),
        ("getimg", {"sized": False}, "the plan says that size is not asked for, and it is"),
        (
            "getimg",
            {"api": IN_PROCESS, "guidance": 7.5},
            "the plan says that guidance is asked for, and it is not",
        ),
    ],
)
def test_a_plan_that_says_what_its_requests_do_not_lets_nothing_out(
    name: str, changes: dict[str, object], fault: str
):
    plan = small_plan(dialect=name, **changes)
    policy = Policy(dialect(name), Address(plan.api), lambda digest: b"")
    with pytest.raises(EgressError, match=fault):
        policy.fix(plan, lambda receipt: True)


def test_the_audit_finds_a_plan_that_says_what_its_requests_do_not(world, tmp_path, monkeypatch):
    # as somebody would forge it who writes the record without our gate
    with monkeypatch.context() as without:
        without.setattr("pcevolve.egress.policy.misstated", lambda *of: ())
        world("openai-plain").open(tmp_path, steps=50).finish()
    faults = [fault for finding in audit(tmp_path) for fault in finding.faults]
    assert faults == ["the plan says that steps is asked for, and it is not"]


@pytest.mark.parametrize("setting", ["steps", "guidance", "size", "negative_prompt", "adapter"])
def test_what_a_generator_inside_this_process_is_not_handed_is_refused(setting: str):
    require(dialect("getimg"), {"create", "vary", "strength", "seed", "batch", setting})
    require(dialect("getimg"), {"create", "vary", "strength", "seed", "batch"}, in_process=True)
    with pytest.raises(
        UsageError, match=f"a generator inside this process is not asked for {setting}: leave"
    ):
        require(dialect("getimg"), {"create", setting}, in_process=True)
