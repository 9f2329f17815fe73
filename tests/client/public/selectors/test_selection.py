"""A selector's question: what units add, public randomness, and noise that is never too small."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcevolve.public.privacy import Event
from pcevolve.public.selectors.selection import (
    PrivateEmbeddings,
    deviation,
    require_mechanism,
    round_down,
    single_event,
    unit_shares,
)
from support.neighbours import World


def test_what_a_record_may_count_does_not_depend_on_others():
    private = PrivateEmbeddings(np.zeros((2, 1)), np.zeros(2, int), np.arange(2), caps=np.array([0.3, 1.0]))
    assert private.capped.tolist() == [math.floor(0.3 * 2**30) / 2**30, 1.0]
    assert PrivateEmbeddings(np.zeros((2, 1)), np.zeros(2, int), np.arange(2)).capped.tolist() == [1.0, 1.0]


SCENE = World(pools=((1.0,), (2.0,)), places=()).scene("replace-one")


@given(st.fractions(Fraction(1, 100), 1000, max_denominator=10**6), st.floats(1e-3, 1e3))
def test_noise_is_no_less_than_its_multiplier_times_the_sensitivity(multiplier, sensitivity):
    found = deviation(Event("gaussian", str(multiplier)), sensitivity)
    assert Fraction(found) >= multiplier * Fraction(sensitivity)


def test_public_randomness_is_the_same_for_one_purpose_and_another_for_any_other():
    drawn = [tuple(SCENE.random(*purpose).integers(2**32, size=4)) for purpose in ((), (0,), (1,), (0, 1))]
    assert drawn == [tuple(SCENE.random(*each).integers(2**32, size=4)) for each in ((), (0,), (1,), (0, 1))]
    assert len({*drawn[1:], tuple(SCENE.random(2).integers(2**32, size=4))}) == 4


def test_shares_are_multiples_of_a_billionth_that_never_add_up_to_more_than_1():
    shares = unit_shares(np.array([4, 4, 4, 9]))
    assert shares.tolist() == [357913941 / 2**30] * 3 + [1.0]
    assert shares[:3].sum() < 1
    assert round_down(np.array([1.0, 0.0, 2.0**-31])).tolist() == [1, 0, 0]


def test_one_event_of_the_selector_s_mechanism_pays_for_its_accesses_and_nothing_else_does():
    event = Event("gaussian", "2", 3)
    assert single_event((event,)) is event
    for several in ((), (event, event)):
        with pytest.raises(ValueError, match=f"{len(several)} events do not pay for this selector's one"):
            single_event(several)
    require_mechanism(event, "gaussian", 3)
    for mechanism, accesses in (("exponential", 3), ("gaussian", 1)):
        with pytest.raises(ValueError, match=r"an event 'gaussian' x 3 does not pay for this selector's"):
            require_mechanism(event, mechanism, accesses)


def test_of_a_class_whose_candidates_cannot_be_used_all_can_be_chosen():
    pools = (np.array([[0.0, 1.0], [np.nan, 1.0], [np.inf, 1.0], [2.0, 1.0]]), np.full((2, 2), np.nan))
    scene = replace(SCENE, pools=pools)
    assert [scene.eligible(target).tolist() for target in (0, 1)] == [[0, 3], [0, 1]]
