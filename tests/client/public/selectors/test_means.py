"""Class means: the public frame, what is released in it, and choices that follow from it."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.geometry.frame import Frame
from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.privacy import Event
from pcevolve.public.selectors import METHODS, PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means, aims_of, count_best, means_lift, means_of, score, spread
from pcevolve.public.selectors.sums import clip, typical
from support.contract import scope

NOISELESS = (Event("gaussian", f"1/{10**12}"),)


def scene_of(pools: list[np.ndarray], **changes: object) -> SelectionInput:
    labels = tuple(f"class {place}" for place in range(len(pools)))
    scene = SelectionInput(
        labels, tuple(pools), 4, 10, iteration=1, iterations=3, seed=7, relation="replace-one"
    )
    return replace(scene, **changes)


def clouds(seed: int, classes: int = 3, count: int = 40, width: int = 32) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.normal(size=(count, width)) + 6 * np.eye(width)[target] for target in range(classes)]


def records_in(pools: list[np.ndarray]) -> PrivateEmbeddings:
    """Private records that lie exactly on candidates."""
    targets = np.repeat(np.arange(len(pools)), [len(pool) for pool in pools])
    return PrivateEmbeddings(np.concatenate(pools), targets, np.arange(len(targets)))


def test_the_frame_is_mean_principal_axes_and_median_norm_of_what_can_be_used():
    line = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0], [10.0, 1.0], [np.nan, 0.0]])
    frame = Frame.of(line, most=1)
    assert frame.centre.tolist() == [4.0, 1.0]
    assert np.abs(frame.axes[:, 0]) == pytest.approx([1.0, 0.0])
    assert frame.radius == pytest.approx(3.0)  # of 4, 2, 0 and 6


def test_what_is_released_is_the_sum_of_clipped_points_over_nominal_shots():
    pools = [np.array([[-2.0], [-1.0]]), np.array([[1.0], [2.0]])]  # centre 0, radius 1.5
    data = PrivateEmbeddings(np.array([[-1.0], [-9.0], [0.5]]), np.array([0, 0, 1]), np.arange(3))
    measured = Means().measure(data, scene_of(pools), NOISELESS, SeededNoise(1))
    sign = measured["axes"][0, 0]
    assert sign * measured["means"][:, 0] == pytest.approx([-(1.0 + 1.5) / 10, 0.05], abs=1e-5)


def test_the_noise_has_the_multipliers_deviation_in_radii_and_is_trusted_by_as_much_as_that_allows():
    pools = clouds(3, classes=30)
    empty = PrivateEmbeddings(np.zeros((0, 32)), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    frame = Frame.of(np.concatenate(pools))
    for relation, factor in (("add-remove", 1), ("replace-one", 2)):
        scene = scene_of(pools, relation=relation)
        means = Means().measure(empty, scene, (Event("gaussian", "3"),), SeededNoise(2))["means"]
        deviation = 3 * factor * frame.radius / scene.shots
        trust = frame.variances / (frame.variances + deviation**2)
        prior = np.array([typical(frame.points(pool)) for pool in pools])
        assert ((means - prior) / trust + prior).std() == pytest.approx(deviation, rel=0.1)


CENTRED = Event("gaussian", "3"), Event("gaussian", "2")
NEARLY_NOISELESS = (Event("gaussian", f"1/{10**12}"),) * 2


def test_around_a_centre_deviations_are_clipped_to_half_the_radius_and_added_to_it():
    pools = [np.array([[-2.0], [-1.0]]), np.array([[1.0], [2.0]])]  # centre 0, radius 1.5
    places = np.array([[1.0], [1.2], [-9.0], [1.1]])
    data = PrivateEmbeddings(places, np.array([0, 0, 0, 1]), np.arange(4))
    measured = Means().measure(data, scene_of(pools, shots=2), NEARLY_NOISELESS, SeededNoise(1))
    sign = measured["axes"][0, 0]
    middle = (1.0 + 1.2 - 1.5 + 1.1) / 4
    own = ((1.0 - middle) + (1.2 - middle) - 0.75) / 2, (1.1 - middle) / 2
    assert sign * measured["middle"] == pytest.approx([middle], abs=1e-2)
    assert sign * means_of(measured)[:, 0] == pytest.approx([middle + each for each in own], abs=1e-2)


def test_the_noise_around_a_centre_has_the_multipliers_deviations():
    empty = PrivateEmbeddings(np.zeros((0, 32)), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    pools = clouds(3, classes=30)
    frame = Frame.of(np.concatenate(pools))
    for relation, factor in (("add-remove", 1), ("replace-one", 2)):
        scene = scene_of(pools, relation=relation)
        draws = [Means().measure(empty, scene, CENTRED, SeededNoise(seed)) for seed in range(30)]
        prior = np.array([typical(frame.points(pool)) for pool in pools])
        first = 3 * factor * frame.radius / (scene.shots * 30)
        second = 2 * factor * frame.radius / 2 / scene.shots
        guess, own = prior.mean(axis=0), clip(prior - prior.mean(axis=0), frame.radius / 2)
        middles = [(each["middle"] - guess) / frame.shrinkage(first) + guess for each in draws]
        means = [(each["deviations"] - own) / frame.shrinkage(second) + own for each in draws]
        assert np.std(middles) == pytest.approx(first, rel=0.1)
        assert np.std(means) == pytest.approx(second, rel=0.1)


def test_a_centre_keeps_classes_apart_that_lie_at_the_edge_of_the_ball():
    """Private images lie at the edge of the ball, and their classes near to each other: what centres are for."""
    pools = clouds(3)
    offset = 8 * np.eye(32)[0]
    data = records_in([pool[:10] * 0.3 + offset for pool in pools])
    scene = scene_of(pools)
    apart = {}
    for name, events in (("at once", NOISELESS), ("centre first", NEARLY_NOISELESS)):
        measured = Means().measure(data, scene, events, SeededNoise(1))
        apart[name] = cdist(means_of(measured), means_of(measured)).max()
    assert apart["centre first"] > 1.05 * apart["at once"]


@pytest.mark.parametrize("count", [0, 3])
def test_one_event_or_two_pay_for_means(count):
    with pytest.raises(ValueError, match="do not pay"):
        Means().measure(records_in(clouds(1)), scene_of(clouds(1)), NOISELESS * count, SeededNoise(1))


def test_the_frame_does_not_depend_on_the_private_data():
    scene, events = scene_of(clouds(4)), (Event("gaussian", "1"),)
    one, other = (Means().measure(records_in(clouds(seed)), scene, events, SeededNoise(1)) for seed in (5, 6))
    assert all(np.array_equal(one[name], other[name]) for name in ("centre", "axes"))
    assert not np.array_equal(one["means"], other["means"])


def test_choices_aim_as_far_from_the_centre_as_clipping_has_drawn_the_means_to_it():
    middle, deviations = np.array([1.0, 0.0]), np.array([[0.0, 1.0], [0.0, -1.0]])
    measured = {"centre": np.zeros(2), "axes": np.eye(2), "middle": middle, "deviations": deviations}
    assert means_of(measured).tolist() == [[1.0, 1.0], [1.0, -1.0]]
    assert aims_of(measured).tolist() == [[1.0, 2.0], [1.0, -2.0]]
    pool = np.array([[1.0, 0.5], [1.0, 2.2], [1.0, -2.2], [1.0, 0.0]])
    picked = Means().pick(measured, scene_of([pool, pool], wanted=1))
    assert [each.tolist() for each in picked] == [[1], [2]]


def test_greedy_centres_reach_every_cluster_before_any_gets_a_second_and_begin_with_the_best():
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    points = np.concatenate([centres + offset for offset in (0.0, 0.1, 0.2)])
    chosen = spread(points, 4, Ruler.of([points], b"")).tolist()
    assert chosen[0] == 0
    assert sorted(place % 4 for place in chosen) == [0, 1, 2, 3]


def test_later_rounds_choose_from_new_candidates_by_the_same_means():
    pools, later = clouds(9), clouds(10)
    selector = METHODS["dp-means"].make_selector()
    measured = selector.measure(records_in(pools), scene_of(pools, shots=40), NOISELESS, SeededNoise(1))
    mixed = [np.concatenate([later[(place + 1) % 3], later[place]]) for place in range(3)]
    for picked in selector.pick(measured, scene_of(mixed, iteration=2)):
        assert picked.min() >= 40


def make_frame(seed: int = 1, width: int = 32, axes: int = 20) -> PublicFrame:
    """A frame of public images that an encoder brings."""
    random = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(random.normal(size=(width, axes)))
    variances = np.geomspace(4.0, 0.1, axes)
    return PublicFrame("0" * 64, random.normal(size=width), basis, variances, np.sqrt(variances.cumsum()))


def test_a_frame_that_the_encoder_brings_does_not_depend_on_the_candidates():
    frame, data = Frame.public(make_frame()), records_in(clouds(4))
    assert frame.axes.shape == (32, 16)
    assert frame.radius == make_frame().radii[15]
    for pools in (clouds(1), [np.full((3, 32), np.nan)] * 3):
        scene = scene_of(pools, frame=frame)
        measured = Means().measure(data, scene, CENTRED, SeededNoise(1))
        assert np.array_equal(measured["centre"], frame.centre)
        assert np.array_equal(measured["axes"], frame.axes)
        assert Means().could_measure(measured, scene, CENTRED)


def test_on_record_it_has_to_be_the_very_frame():
    scene = scene_of(clouds(4), frame=Frame.public(make_frame()))
    measured = Means().measure(records_in(clouds(4)), scene, CENTRED, SeededNoise(1))
    other = replace(scene, frame=Frame.public(make_frame(seed=2)))
    nearly = {**measured, "centre": measured["centre"] + 2.0**-30}
    assert not Means().could_measure(measured, other, CENTRED)
    assert not Means().could_measure(nearly, scene, CENTRED)
    assert not Means().could_measure(measured, replace(scene, frame=None), CENTRED)


def test_a_score_is_the_squared_distance_less_half_the_nearest_other_mean_s_and_strays_come_last():
    steps = np.array([[3.0, 4.0, 9.0], [3.0, 9.0, 4.0], [5.0, 4.0, 6.0], [4.0, 4.0, 4.0]])
    assert score(steps, steps, 0).tolist() == [1.0, 1.0, 17.0 + 2**50, 8.0]
    assert score(steps[:, :1], steps[:, :1], 0).tolist() == [9.0, 9.0, 25.0, 16.0]


@pytest.mark.parametrize(("eligible", "best"), [(100, 10), (101, 11), (40, 4), (41, 5), (20, 4), (3, 3)])
def test_diversity_decides_among_a_tenth_of_a_class_s_candidates_and_no_fewer_than_are_wanted(eligible, best):
    assert count_best(scene_of([np.zeros((1, 1))]), eligible) == best


def test_the_lift_of_means_is_the_share_of_the_best_beyond_their_tenth():
    assert means_lift(NOISELESS, scope(candidates=1)) == 1.0
    sizes = scope(candidates=100, shots=10, relation="add-remove")
    noise = 10.0  # a multiplier of 10 on a radius of 1, over ten shots, is noise of the radius
    assert means_lift((Event("gaussian", "10"),), sizes) == pytest.approx(
        NormalDist().cdf(10 / noise - NormalDist().inv_cdf(0.9)), abs=1e-6
    )
