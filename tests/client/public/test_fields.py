"""What can be read off one field of a plan."""

from __future__ import annotations

import ast
import inspect
from fractions import Fraction
from types import ModuleType

import pytest

from pcevolve.public import fields, requests, settings
from pcevolve.public.modality import images, texts
from pcevolve.public.plan import PublicPlan
from support.runs import replace_settings, small_plan


def plan_of(**changes: object) -> PublicPlan:
    """A plan with fields that need not go together."""
    return replace_settings(small_plan(), changes)


def test_a_budget_is_exact():
    assert plan_of(epsilon="1/3", delta=1e-6).budget.epsilon == Fraction(1, 3)


def test_only_noise_of_the_system_is_secure_and_a_run_without_it_promises_no_secrecy():
    assert (plan_of().secure, plan_of(noise="INSECURE-seeded").secure) == (True, False)
    secrecy = object()
    assert plan_of(secrecy=secrecy).promised_secrecy is secrecy
    assert plan_of(secrecy=secrecy, noise="INSECURE-seeded").promised_secrecy is None


@pytest.mark.parametrize(
    ("changes", "releases"),
    [
        ({}, (1, 2)),
        ({"keep": "selected"}, (1, 2, 3)),
        ({"appearance": "matched"}, (0, 1, 2)),
        ({"iterations": 0}, ()),
        ({"iterations": 0, "keep": "selected"}, (1,)),
        ({"appearance": "auto", "keep": "selected"}, (0, 1, 2, 3)),
    ],
)
def test_a_release_is_the_appearance_a_round_or_the_dataset(
    changes: dict[str, object], releases: tuple[int, ...]
):
    assert plan_of(**changes).releases == releases


def test_a_release_names_prototypes_the_last_one_the_dataset_and_the_appearance_none():
    plan = plan_of(prototypes=5, candidates=9)
    assert [plan.wanted(iteration) for iteration in range(4)] == [0, 5, 5, 9]
    assert plan_of(keep="selected", iterations=0).wanted(1) == 3


def test_the_threshold_goes_in_a_straight_line_from_the_first_round_to_the_last():
    def plan_of(**changes: object) -> PublicPlan:
        return replace_settings(small_plan(method="pe", delta=1e-5), changes)

    plan = plan_of(iterations=5, threshold=10.0, threshold_end=2.0)
    assert [plan.threshold_at(iteration) for iteration in range(8)] == [10, 10, 8, 6, 4, 2, 2, 2]
    assert plan_of(iterations=5, threshold=10.0).threshold_at(5) == 10
    assert plan_of(iterations=1, threshold=10.0, threshold_end=2.0).threshold_at(1) == 10
    assert plan_of(iterations=3, threshold=0.0, threshold_end=4.0).threshold_at(2) == 2


@pytest.mark.parametrize(
    ("share", "sent", "needed"),
    [(0.25, 100, 25), (0.25, 101, 26), (0.25, 4, 2), (0.25, 1, 1), (0.07, 100, 7), (1, 9, 9)],
)
def test_a_share_of_what_was_sent_has_to_be_usable_rounded_up_and_two_at_least(
    share: float, sent: int, needed: int
):
    assert plan_of(min_usable=share).count_needed(sent) == needed
    assert plan_of(min_usable=0.01).count_needed(sent, fewest=3) == min(sent, max(3, -(-sent // 100)))


def test_a_prompt_says_the_domain_and_the_label_or_the_words_that_stand_for_it():
    plan = plan_of(prompt_template="{label}, {domain}", domain="leather")
    assert plan.prompt("good") == "good, leather"
    worded = plan_of(words=("a scratch", ""), prompt_template="{domain}  {label}.", domain="leather")
    assert (worded.prompt("cut"), worded.prompt("good")) == ("leather  a scratch.", "leather .")


def test_first_images_have_prompts_of_their_own_or_the_template_s():
    plan = plan_of(prompts=(("a", "b"), ("c", "d")))
    assert (plan.wordings, plan.first_prompts("good")) == (2, ("c", "d"))
    assert (plan_of().wordings, plan_of().first_prompts("cut")) == (0, (plan_of().prompt("cut"),))


def test_what_is_varied_by_prompt_is_never_sent_and_has_no_strength():
    by_image, by_prompt = plan_of(vary_with="template"), plan_of(vary_by="prompt", vary_with="template")
    assert (by_image.varies_prompts, by_image.keeps_prompts, by_image.grades_variations) == (
        False,
        False,
        True,
    )
    assert (by_prompt.varies_prompts, by_prompt.keeps_prompts, by_prompt.grades_variations) == (
        True,
        True,
        False,
    )
    assert plan_of().keeps_prompts


def test_a_public_seed_is_a_hash_of_the_run_s_seed_and_its_purpose():
    assert plan_of(seed=7).public_seed("i000", 1, 2) == 0xCEEC29B5
    seeds = {plan_of(seed=seed).public_seed(*of) for seed in (7, 8) for of in (("a", 1), ("a", 2), ("b", 1))}
    assert len(seeds) == 6
    assert max(seeds) < 2**32


@pytest.mark.parametrize("module", [fields, images, texts])
def test_an_option_is_declared_where_options_are_and_nowhere_in_a_plan_again(module: ModuleType):
    sections = 0
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if not isinstance(node, ast.ClassDef):
            continue
        own = {ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)}
        options = [
            each
            for each in getattr(module, node.name).__mro__
            if inspect.getmodule(each) in (requests, settings)
        ]
        embedded = {name for each in options for name in getattr(each, "model_fields", ())}
        sections += bool(embedded)
        assert not own & embedded, node.name
    assert sections
