"""What means nothing in a plan is not written down."""

from __future__ import annotations

import pytest

from pcevolve.public.canonical import CONTROLS, list_unused
from pcevolve.public.plan import PublicPlan
from pcevolve.public.selectors import METHODS
from support.plans import CASES, plan_of


@pytest.mark.parametrize(("method", "spoken"), CASES)
def test_what_means_nothing_is_not_written_down(method: str, spoken: str):
    plan = plan_of(method, spoken)
    assert not {*list_unused(plan)} & plan.model_dump(mode="json").keys()
    assert PublicPlan.model_validate_json(plan.model_dump_json()) == plan


def test_controls_are_the_methods_without_a_selector():
    assert {name for name, each in METHODS.items() if not each.queries_data} == CONTROLS
