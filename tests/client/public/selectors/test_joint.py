"""The joint vote: blocks, tuples, and votes worked by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.privacy import Budget, Event, Relation
from pcevolve.public.selectors import METHODS
from pcevolve.public.selectors.joint import draw_ballots, sum_votes_for_tuples, vote_for_tuples
from support.contract import scope
from support.neighbours import World, records_of


def world(*pools: tuple[float, ...]) -> World:
    return World(pools=pools, places=())


def test_half_a_vote_for_a_close_prototype_and_half_for_telling_it_from_the_others():
    near = [np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 9.0])]
    tuples = np.array([[0, 0], [0, 2], [1, 0], [1, 1], [1, 2], [2, 2]])
    close, apart = [0.5, 0.5, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0.5, 0.5]  # the tie at (1, 1) tells nothing apart
    assert vote_for_tuples(near, 0, tuples).tolist() == (np.array(close) + apart).tolist()


@pytest.mark.parametrize(("count", "close"), [(1, 1), (6, 1), (7, 2), (40, 6), (100, 15)])
def test_fifteen_percent_of_the_candidates_rounded_up_are_close(count: int, close: int):
    tuples = np.arange(count)[:, None]
    voted = vote_for_tuples([np.arange(count, dtype=float)], 0, tuples) - 0.5  # a single class has no others
    assert voted.tolist() == [0.5] * close + [0.0] * (count - close)


def test_the_records_of_a_block_are_added_up():
    scene = world((0.0, 5.0), (1.0, 9.0)).scene("replace-one")
    data = records_of((((0.0, 0),), ((0.2, 0),), ((8.0, 1),)))
    ((block, tuples),) = draw_ballots(scene)
    by_class = {
        tuple(each[np.argsort(block)].tolist()): total
        for each, total in zip(tuples, sum_votes_for_tuples(data, scene, block, tuples), strict=True)
    }
    assert by_class == {(0, 0): 2.5, (0, 1): 3.0, (1, 0): 0.0, (1, 1): 2.0}


def test_blocks_are_drawn_anew_from_the_public_seed():
    of = world(*[(0.0, 1.0)] * 9)
    scenes = (of.scene("replace-one", seed=seed) for seed in range(5))
    seen = {str([block for block, _ in draw_ballots(scene)]) for scene in scenes}
    assert len(seen) == 5


def test_all_tuples_stand_if_they_are_few_enough_and_else_as_many_at_random():
    few = world(tuple(range(20)), tuple(range(10)), tuple(range(100))).scene("replace-one")
    many = world(tuple(range(28)), tuple(range(28)), tuple(range(28))).scene("replace-one")
    assert len({tuple(each) for each in draw_ballots(few)[0][1]}) == 20_000
    _, tuples = draw_ballots(many)[0]
    assert tuples.shape == (20_000, 3)
    assert tuples.min() == 0
    assert tuples.max() == 27
    assert len({tuple(each) for each in tuples}) > 10_000


def test_with_hardly_any_noise_the_elected_tuple_is_chosen_and_then_what_is_like_it():
    scene = world((5.0, 0.0, 1.0), (1.0, 9.0), (30.0, 20.0, 29.0)).scene("replace-one", wanted=2)
    data = records_of((((0.0, 0),), ((8.0, 1),), ((31.0, 2),)))
    selector = METHODS["jvem"].make_selector()
    measured = selector.measure(data, scene, (Event("exponential", "1000"),), SeededNoise(1))
    assert measured["chosen"].tolist() == [1, 1, 0]
    assert [each.tolist() for each in selector.pick(measured, scene)] == [[1, 2], [1, 0], [0, 2]]


@pytest.mark.parametrize(
    ("epsilon", "relation", "rounds"),
    [(10, "replace-one", 3), (10, "add-remove", 6), (1, "replace-one", 1), (1000, "replace-one", 20)],
)
def test_there_are_as_many_rounds_as_epsilon_and_ten_shots_bear(
    epsilon: int, relation: Relation, rounds: int
):
    """``epsilon K / 30``, or ``/ 15`` under add-remove, between 1 and 20."""
    sizes = scope(relation=relation, shots=10)
    assert METHODS["jvem"].iterations(None, Budget(Fraction(epsilon)), sizes) == rounds


@pytest.mark.parametrize(
    ("classes", "sizes"), [(1, [1]), (2, [2]), (3, [3]), (4, [2, 2]), (10, [3, 3, 2, 2])]
)
def test_every_class_is_in_one_block_of_at_most_three(classes: int, sizes: list[int]):
    blocks = [block for block, _ in draw_ballots(world(*[(0.0, 1.0)] * classes).scene("replace-one"))]
    assert [len(block) for block in blocks] == sizes
    assert max(sizes) <= 3
    assert sorted(np.concatenate(blocks).tolist()) == list(range(classes))
