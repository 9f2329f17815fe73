"""What a plan, and with it every page, says that an API is asked for is what its requests hold."""

from __future__ import annotations

import pytest

from pcevolve.auditing import audit
from pcevolve.egress.policy import Policy
from pcevolve.egress.transport import Address
from pcevolve.errors import EgressError
from pcevolve.providers import dialect
from pcevolve.public.fields import IN_PROCESS
from support.runs import small_plan


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
            {"graded": True, "strengths": (0.8, 0.7)},
            "the plan says that strength is asked for, and it is not",
        ),
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
        without.setattr("pcevolve.egress.policy.find_misstatements", lambda *of: ())
        world("openai-plain").open(tmp_path, steps=50).finish()
    faults = [fault for finding in audit(tmp_path) for fault in finding.faults]
    assert faults == ["the plan says that steps is asked for, and it is not"]


def test_a_page_says_that_steps_guidance_and_degree_are_the_apis_own():
    own = "steps, guidance and degrees of variation are left to the API (the API recommends nothing)"
    assert small_plan(dialect="openai-plain").modality.asked_with("", "") == own
    assert "strength 0.8" in small_plan().modality.asked_with("0.8", "")
