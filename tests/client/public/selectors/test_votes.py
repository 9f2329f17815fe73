"""Private Evolution's votes: who gets them, how they are counted, and what is made of a noisy histogram."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.privacy import Event
from pcevolve.public.selectors import METHODS
from pcevolve.public.selectors.votes import ExponentialVotes, Votes, cast_votes, count_units, histogram_lift
from support.contract import scope
from support.neighbours import World, records_of

NAN = math.nan
WORLD = World(pools=((0.0, 2.0, NAN, 2.0), (9.0, 2.1)), places=())
SCENE = WORLD.scene("replace-one")


def test_records_vote_in_their_own_class_and_ties_go_to_the_first_candidate():
    near_to_others, tie, to_a_copy = (2.1, 0), (1.0, 0), (1.9, 0)
    data = records_of(tuple((each,) for each in (near_to_others, tie, to_a_copy, (2.0, 1))))
    assert cast_votes(data, SCENE).tolist() == [[1], [0], [1], [5]]


def test_a_unit_has_one_vote_in_all_for_draws_and_votes_of_norm_one_for_gaussian_noise():
    images = (0.1, 0), (0.2, 0), (1.9, 0), (8.0, 1)
    several, single = records_of((images,)), records_of(tuple((each,) for each in images))
    counted = np.array([2, 1, 0, 0, 1, 0])
    for selector in (Votes(), ExponentialVotes()):
        assert selector.histogram(single, SCENE).tolist() == counted.tolist()
    assert ExponentialVotes().histogram(several, SCENE).tolist() == (counted / 4).tolist()
    assert Votes().histogram(several, SCENE) == pytest.approx(counted / math.sqrt(6), abs=1e-8)


def test_an_image_of_several_votes_has_a_vector_of_norm_one_over_its_nearest_candidates():
    data = records_of((((0.1, 0),), ((8.0, 1),)))
    scene = WORLD.scene("replace-one", votes=2)
    assert cast_votes(data, scene).tolist() == [[0, 1], [4, 5]]
    assert Votes().histogram(data, scene) == pytest.approx(
        np.array([1, 1, 0, 0, 1, 1]) / math.sqrt(2), abs=1e-8
    )


def test_draws_are_by_one_vote_of_each_unit_even_where_the_scene_says_more():
    data = records_of((((0.1, 0), (1.9, 0)), ((8.0, 1),)))
    asked, paid = (
        ExponentialVotes().histogram(data, WORLD.scene("replace-one", votes=each)) for each in (2, 1)
    )
    assert asked.sum() == len(np.unique(data.units)) == 2
    assert asked.tolist() == paid.tolist()


def test_class_counts_are_units_and_one_of_several_images_is_shared_by_its_classes():
    data = records_of((((0.1, 0),), ((0.2, 0), (1.9, 0), (8.0, 1), (8.0, 1))))
    assert count_units(data, SCENE).tolist() == [1.5, 0.5]


def test_of_two_events_the_first_pays_for_class_counts_and_both_are_on_record_without_idle_digits():
    data = records_of((((0.1, 0),),) * 30 + (((8.0, 1),),) * 10)
    events = (Event("gaussian", "1/2"), Event("gaussian", "1"))
    measured = Votes().measure(data, SCENE, events, SeededNoise(3))
    assert measured["counts"] == pytest.approx([30, 10], abs=3)
    assert Votes().could_measure(measured, SCENE, events)
    votes = {"votes": measured["votes"]}
    assert not Votes().could_measure(votes, SCENE, events)
    assert Votes().could_measure(votes, SCENE, events[1:])
    assert not Votes().could_measure({**measured, "counts": measured["counts"] + 1e-9}, SCENE, events)


def test_events_for_nothing_that_is_counted_are_refused_before_anything_is_drawn():
    data = records_of((((0.1, 0),),))
    for count in (0, 3):
        with pytest.raises(ValueError, match="do not pay for votes"):
            Votes().measure(data, SCENE, (Event("gaussian", "1"),) * count, SeededNoise(1))


def parents(votes: list[float], **changes: object) -> list[np.ndarray]:
    scene = WORLD.scene("replace-one", **{"wanted": 4000, **changes})
    return list(Votes().pick({"votes": np.array(votes)}, scene))


def test_parents_are_drawn_in_proportion_to_votes_less_the_threshold_and_negative_votes_are_none():
    first, second = parents([3.0, 1.0, 9.0, -5.0, -1.0, 0.5])
    assert np.bincount(first, minlength=4) / 4000 == pytest.approx([0.75, 0.25, 0, 0], abs=0.03)
    assert set(second.tolist()) == {1}
    first, _ = parents([3.0, 2.5, 9.0, 1.0, 1.0, 1.0], threshold=2.0)
    assert np.bincount(first, minlength=4) / 4000 == pytest.approx([2 / 3, 1 / 3, 0, 0], abs=0.03)


def test_parents_follow_from_the_public_seed():
    votes = [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    for one, other in zip(parents(votes), parents(votes), strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(parents(votes)[0], parents(votes, seed=6)[0])


LINE = World(pools=((0.0, 1.0, 2.0, 3.0, NAN),), places=())
NOISY = {"votes": np.array([1.5, 9.0, -2.0, 4.0, 50.0])}


def keep_best(wanted: int, **changes: object) -> list[int]:
    """Whom Aug-PE keeps, by noisy votes."""
    (picked,) = Votes(ranked=True).pick(NOISY, LINE.scene("replace-one", wanted=wanted, **changes))
    return picked.tolist()


def test_the_best_are_kept_each_once_in_the_order_of_their_votes_and_what_cannot_be_used_never():
    assert keep_best(3) == [1, 3, 0]
    assert keep_best(6) == [1, 3, 0, 2, 1, 3]


def test_where_they_are_drawn_it_is_in_proportion_to_what_the_threshold_leaves():
    drawn = np.bincount(keep_best(20_000, drawn=True, threshold=1.0), minlength=5)
    expected = np.array([0.5, 8.0, 0.0, 3.0, 0.0]) / 11.5
    assert drawn / 20_000 == pytest.approx(expected, abs=5 * math.sqrt(0.25 / 20_000))
    assert not drawn[[2, 4]].any()
    assert keep_best(8, drawn=True) == keep_best(8, drawn=True)  # by a public seed
    assert set(keep_best(400, drawn=True, threshold=100.0)) == {0, 1, 2, 3}  # at random where nothing is left


def test_draws_hide_one_vote_that_goes_or_two_that_change():
    drawn, noisy = METHODS["pe-em"].sensitivity, METHODS["pe"].sensitivity
    assert [drawn.of(each) for each in ("add-remove", "replace-one")] == [1.0, 2.0]
    assert [noisy.of(each) for each in ("add-remove", "replace-one")] == pytest.approx([1.0, math.sqrt(2)])
    assert {drawn.unit, noisy.unit} == {"votes"}


def test_a_histogram_s_lift_counts_the_empty_bins_of_the_best_tenth_and_of_the_rest():
    """Two of the best three have a vote of 1, and a bin with v votes keeps what N(v, 1) has above 0."""
    found = histogram_lift((Event("gaussian", "1"),), scope(candidates=30, shots=2, relation="add-remove"))
    empty, one = 0.398942280, 1.083315470
    good = 2 * one + 1 * empty
    assert found == pytest.approx(good / (good + 27 * empty), rel=1e-6)
