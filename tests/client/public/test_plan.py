"""The plan: public, complete, and the same for everybody who describes the same run."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from support.runs import small_plan

SECRETS = {
    "dialect": "chat",
    "method": "secpe",
    "delta": 1e-5,
    "shots": 3,
    "secrecy": {"prior": 1e-4, "bound": 1e-3, "most": 1},
}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"labels": ()}, "at least 1 item"),
        ({"keep": "selected", "more": 2}, "cannot be extended"),
        ({"subsample": 4, "shots": 3}, "subsample: so many units of each class are drawn"),
        (
            {**SECRETS, "subsample": 3, "unit": "text"},
            "a text is drawn by its own words, so nothing can be promised of secrets in it",
        ),
        ({"appearance": "auto"}, "say matched or as-is"),
        ({"labels": ("cut", "cut")}, "same name"),
        ({"labels": ("../x", "cut")}, "begins or ends with a blank or a dot"),
        ({"strengths": (0.8,)}, "1 are given for 2 iterations"),
        ({"prompt_template": "an image"}, "is missing"),
        ({"candidates": 3, "prototypes": 2}, "multiple of"),
        ({"api": "http://u:p@host"}, "pattern"),
        ({"epsilon": "1/0"}, "pattern"),
        ({"surprise": 1}, "Extra inputs"),
        ({"window": "3"}, "two numbers with a comma between"),
        ({"words": ("x", "x"), "labels": ("class 1", "class 2")}, "the same for all classes"),
        ({"prompts": (("a",),)}, "each class needs some"),
        ({"prompts": (("a",), ("b", "c"))}, "as many as every other"),
        ({"prompts": ((), ())}, "one at least"),
        ({"prompts": (tuple("abcd"), tuple("abcd"))}, "none of them more than its first images"),
        ({"prompts": (("a\nb",), ("b",))}, "pattern"),
        ({"vary_by": "prompt", "strengths": ()}, "needs provider.prompts, two at least"),
        ({"vary_by": "prompt", "prompts": (("a", "b"), ("c", "d"))}, "none where the API is asked for none"),
        ({"graded": False, "strengths": (0.8, 0.78)}, "none where the API is asked for none"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(changes, reason):
    with pytest.raises(ValidationError, match=reason):
        small_plan(**changes)


@pytest.mark.parametrize(
    "changes", [{"subsample": 3, "unit": "patient"}, {"unit": "text"}], ids=["drawn by patient", "not drawn"]
)
def test_secrets_are_promised_of_texts_that_a_draw_does_not_tell_apart_by_them(changes):
    assert small_plan(**SECRETS, **changes).secrecy is not None
