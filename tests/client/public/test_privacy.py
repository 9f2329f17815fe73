"""What an event of privacy means for one unit and for a group."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from pydantic import TypeAdapter, ValidationError

from pcevolve.public.privacy import FREE, Event


def test_a_range_and_a_pure_loss_grow_with_the_group_and_a_noise_multiplier_shrinks():
    for mechanism in ("exponential", "permute-and-flip"):
        assert Event(mechanism, "1/4", 7).on_group(3) == Event(mechanism, "3/4", 7)
    assert Event("gaussian", "6", 7).on_group(3) == Event("gaussian", "2", 7)
    assert Event("gaussian", "6").on_group(1) == Event("gaussian", "6")


def test_what_does_not_look_is_free_for_any_group():
    assert Event("post-processing", "0", 1) == FREE
    for event in (FREE, Event("uniform", "0", 5)):
        assert (event.free, event.on_group(9)) == (True, event)
    assert not Event("gaussian", "1").free


def test_a_parameter_is_an_exact_number():
    third = Event("exponential", "1/3")
    assert third.value == Fraction(1, 3)
    assert replace(third, parameter="0").value == 0


@pytest.mark.parametrize(
    "told",
    [
        {"parameter": "-1"},
        {"parameter": "1/0"},
        {"parameter": "0.5"},
        {"parameter": "9" * 401},
        {"count": 0},
        {"count": 10**9 + 1},
        {"mechanism": "laplace"},
    ],
)
def test_an_event_of_other_numbers_or_words_is_none(told: dict[str, object]):
    good = {"mechanism": "gaussian", "parameter": "9" * 400, "count": 10**9}
    assert TypeAdapter(Event).validate_python(good).count == 10**9
    with pytest.raises(ValidationError, match=next(iter(told))):
        TypeAdapter(Event).validate_python(good | told)
