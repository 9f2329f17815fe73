"""What a release promises, to whom, and what it assumes."""

from __future__ import annotations

import pytest

from pcevolve.publish.promises import list_assumptions, state_promise
from support.runs import small_plan


def test_nothing_is_promised_where_noise_came_from_a_seed():
    assert "without paid noise" in state_promise(small_plan())
    assert state_promise(small_plan(noise="INSECURE-seeded")) == ""


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"unit": "patient"}, ["how many images each patient has"]),
        ({"unit": "patient", "unit_size": 5}, ["at most 5 images per patient"]),
        ({"unit_size": 5}, ["at most 5 images per unit of any run on these data"]),
        ({"unit": "patient", "relation": "add-remove"}, []),
        ({}, []),
    ],
)
def test_what_is_assumed_about_the_images_of_a_unit_is_said(plan, said):
    assert [
        each for each in list_assumptions(small_plan(method="jvem", **plan)) if " images " in each
    ] == said


def test_the_card_says_that_names_count_within_a_source_as_the_owner_claims():
    claim = "the owner's claim that no patient here is one of the same name in data of another source"
    (said,) = [
        each
        for each in list_assumptions(small_plan(method="jvem", unit="patient", namespaced=True))
        if "claim" in each
    ]
    assert said.startswith(claim)
    assert not any("claim" in each for each in list_assumptions(small_plan(unit="patient")))
