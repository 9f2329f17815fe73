"""How images are asked for: what is settled where nobody says, and what a request then carries."""

from __future__ import annotations

import pytest

from pcevolve.public.config.providers import PublicProvider
from pcevolve.public.modality import Advice, Images, ModelSize

SIZE, ADVICE = ModelSize(64, 48), Advice(20, 3.0, 0.3, 0.8)
ALL = frozenset({"steps", "guidance", "size", "strength"})


def settle(advice: Advice | None = None, taken: frozenset[str] = ALL, **asked: object) -> Images:
    return Images.model_validate(Images.settle(PublicProvider(**asked), SIZE, advice, taken))


def test_the_user_s_word_counts_before_the_api_s_and_that_before_the_usual():
    assert (settle().steps, settle().guidance) == (50, 7.5)
    assert (settle(ADVICE).steps, settle(ADVICE).guidance) == (20, 3.0)
    own = settle(ADVICE, steps=4, guidance=0.0, size=32)
    assert (own.steps, own.guidance, own.asked_size) == (4, 0.0, "32 x 32")
    assert settle().asked_size == "64 x 48"


def test_what_the_api_does_not_take_is_not_in_the_plan_and_nothing_says_that_it_is_asked_for():
    bare = settle(taken=frozenset(), steps=4)
    assert (bare.steps, bare.guidance, bare.asked_size, bare.is_graded) == (None, None, "", False)
    assert not any(bare.list_asked().values())
    assert bare.list_unproven() == ("modality.width", "modality.height")
    assert settle().list_unproven() == ()
    assert bare.describe_asking("", "") == (
        "steps, guidance and degrees of variation are left to the API (the API recommends nothing)"
    )


def test_an_adapter_has_a_weight_and_nothing_else_has():
    assert (settle(adapter="plus").adapter_scale, settle(adapter="plus").has_adapter) == (0.5, True)
    with pytest.raises(ValueError, match="an adapter and the weight of its image prompt go together"):
        settle(adapter_scale=0.7)


def test_settings_are_told_as_far_as_the_api_is_asked_for_them():
    asked = settle(steps=4, guidance=2.0, sampler="euler")
    assert asked.describe() == [
        ("Size", "64 × 48 pixels"),
        ("Steps", 4),
        ("Guidance scale", 2.0),
        ("Sampler", "euler"),
    ]
    assert asked.describe_asking("0.8 to 0.3", "20 steps") == (
        "4 steps, guidance 2, strength 0.8 to 0.3 (the API recommends 20 steps)"
    )
    own = "the API's default (the requests set none)"
    assert settle(taken=frozenset()).describe() == [
        ("Size", "64 × 48 pixels, the model's own"),
        ("Steps", own),
        ("Guidance scale", own),
        ("Strength of variations", own),
    ]
