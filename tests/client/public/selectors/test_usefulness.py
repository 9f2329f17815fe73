"""Words on a dataset's use: from released numbers, right in the cases whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.geometry.frame import STEP, Frame, project
from pcevolve.public.geometry.ruler import Ruler
from pcevolve.public.privacy import Event
from pcevolve.public.publish.assessed import AssessedFigures
from pcevolve.public.selectors import Measurement, PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.means import Means
from pcevolve.public.selectors.usefulness import (
    Figures,
    agree_by_words,
    agreement,
    classes_apart,
    distances,
    find_alike,
    separability,
)
from support.runs import small_plan

CLASSES, SHOTS, WIDTH = 3, 10, 24
EVENTS = (Event("gaussian", "3/2"), Event("gaussian", "3/4"))


def scene_of(seed: int, gap: float = 0.0, frame: Frame | None = None) -> SelectionInput:
    """Candidates whose classes lie ``gap`` apart."""
    random = np.random.default_rng([seed, 1])
    pools = tuple(random.normal(size=(60, WIDTH)) + gap * np.eye(WIDTH)[target] for target in range(CLASSES))
    names = tuple("abc"[:CLASSES])
    return SelectionInput(names, pools, 4, SHOTS, 1, 0, 7, "replace-one", frame=frame)


def private_of(seed: int, gap: float) -> PrivateEmbeddings:
    random = np.random.default_rng([seed, 2])
    targets = np.repeat(np.arange(CLASSES), SHOTS)
    places = random.normal(size=(len(targets), WIDTH)) * 0.1 + gap * np.eye(WIDTH)[targets]
    return PrivateEmbeddings(places, targets, np.arange(len(targets)))


def apart_of(seed: int, candidates: float, private: float) -> float:
    scene = scene_of(seed, candidates)
    measured = Means().measure(private_of(seed, private), scene, EVENTS, SeededNoise(seed))
    found = classes_apart(measured, scene, EVENTS)
    assert found is not None
    return found


def release(
    offsets: np.ndarray, relation: str, shots: int = 10
) -> tuple[dict[str, np.ndarray], SelectionInput]:
    """Deviations of classes as they were drawn, float64 ``(classes, 16)``, in a frame that keeps all of them."""
    frame = Frame(np.zeros(WIDTH), np.eye(WIDTH, 16), 1.0, np.full(16, 1e12), STEP)
    names = tuple("abcdefghij"[: len(offsets)])
    pools = tuple(np.zeros((4, WIDTH)) for _ in names)
    scene = SelectionInput(names, pools, 4, shots, 1, 0, 7, relation, frame=frame)
    return {"deviations": offsets}, scene


SIGMA = {"replace-one": 0.075, "add-remove": 0.0375}
"""Noise on a released class mean at 10 shots: a multiplier of 3/4 times a radius of 1, or half of it, over 10."""


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    ("squares", "apart"),
    [
        pytest.param([32.0], 0.0, id="as far as noise alone parts two classes"),
        pytest.param([20.0], 0.0, id="less than noise does"),
        pytest.param([32.0 + 36.0], 6.0, id="six standard deviations"),
        pytest.param([32.0 + 127.0**2], 127.0, id="many shots"),
        pytest.param([32.0 + 1e12], 1e6, id="hardly any noise"),
    ],
)
def test_two_classes_are_as_far_apart_as_their_means_without_what_noise_adds(relation, squares, apart):
    offsets = np.zeros((2, 16))
    offsets[1, 3] = SIGMA[relation] * np.sqrt(squares[0])
    measured, scene = release(offsets, relation)
    assert classes_apart(measured, scene, EVENTS) == pytest.approx(apart, abs=0.01)


@pytest.mark.statistical
@pytest.mark.parametrize("candidates", [0.0, 6.0])
def test_classes_that_do_not_differ_are_not_told_apart_whatever_the_candidates_do(candidates: float):
    found = np.array([apart_of(seed, candidates, 0.0) for seed in range(300)])
    assert (found == 0.0).mean() > 0.35
    assert (found >= 5.0).mean() < 0.04


@pytest.mark.statistical
def test_noise_alone_tells_two_classes_apart_in_three_of_a_hundred_releases():
    random = np.random.default_rng(5)
    noise = (random.normal(size=(2, 16)) * 0.075 for _ in range(4000))
    found = [classes_apart(*release(each, "replace-one"), EVENTS) for each in noise]
    assert 0.018 < np.mean([each >= 5.0 for each in found]) < 0.038


MEASURED = {"centre": np.zeros(2), "axes": np.eye(2), "means": np.array([[1.0, 0.0], [-1.0, 0.0]])}
NONE = [np.nan, np.nan]
"""What is no image."""


@pytest.mark.parametrize(
    ("first", "second", "cosine"),
    [
        ([[2.0, 0.0], [4.0, 0.0]], [[-3.0, 0.0], NONE], 1.0),
        ([[-1.0, 7.0]], [[1.0, 7.0]], -1.0),
        ([[1.0, 1.0]], [[-1.0, -1.0]], 0.71),
        ([[0.0, 1.0]], [[0.0, -1.0]], 0.0),
        ([[5.0, 5.0]], [[5.0, 5.0]], 0.0),
        ([[1.0, 0.0]], [NONE], None),
    ],
)
def test_agreement_is_the_cosine_of_what_parts_the_dataset_s_classes_and_what_parts_the_released_means(
    first, second, cosine
):
    assert agreement(MEASURED, [np.array(first), np.array(second)]) == (
        cosine and pytest.approx(cosine, abs=0.005)
    )


def test_distances_are_means_over_classes_of_all_images_and_of_the_nearest_quarter_in_radii():
    frame = Frame(np.zeros(2), np.eye(2), 2.0, np.ones(2), STEP)
    scene = SelectionInput(("a", "b"), (np.zeros((1, 2)),) * 2, 4, SHOTS, 1, 0, 7, "replace-one", frame=frame)
    points = [np.array([[4.0, 0.0], [2.0, 0.0]]), np.array([[-1.0, 4.0], NONE])]  # 3, 1 and 4 away
    silent = (Event("gaussian", "1e-9"),) * 2
    assert distances(MEASURED, scene, silent, points) == pytest.approx((1.5, 1.25))
    assert distances(MEASURED, scene, silent, [points[0], np.array([NONE])]) == pytest.approx((1.0, 0.5))
    assert distances(MEASURED, scene, silent, [np.array([NONE])] * 2) is None
    five = np.array([[1.0 + each, 0.0] for each in (9, 2, 8, 1, 7)])
    assert distances(MEASURED, scene, silent, [five, points[1]]) == pytest.approx((2.35, 1.375))


@pytest.mark.statistical
def test_without_its_noise_a_release_is_as_far_from_images_as_the_classes_themselves():
    """Noise of .15 on 16 axes of variance 1 takes a distance of 1 to one and a half; in aims it is twice."""
    far, raw = [], []
    for seed in range(200):
        random = np.random.default_rng([3, seed])
        _, scene = release(np.zeros((3, 16)), "replace-one", shots=5)
        scene = replace(scene, frame=replace(scene.coordinates, variances=np.ones(16)))
        kept = 0.15 / (1 + 0.15**2)
        deviations = random.normal(size=(3, 16)) * kept
        measured = {"middle": np.zeros(16), "deviations": deviations}
        points = [np.eye(16)[:1]] * 3
        found = distances(measured, scene, EVENTS, points)
        assert found is not None
        assert found[0] == found[1], "one image a class is the nearest of it"
        far.append(found[0])
        raw.append(np.mean([np.linalg.norm(np.eye(16)[0] - each / 0.5) for each in deviations]))
    assert np.mean(far) == pytest.approx(1.0, abs=0.08)
    assert np.mean(raw) == pytest.approx(1.52, abs=0.08)


def test_images_nearer_than_the_noise_are_at_no_distance():
    _, scene = release(np.zeros((3, 16)), "replace-one", shots=5)
    scene = replace(scene, frame=replace(scene.coordinates, variances=np.ones(16)))
    measured = {"middle": np.zeros(16), "deviations": np.zeros((3, 16))}
    assert distances(measured, scene, EVENTS, [np.zeros((1, 16))] * 3) == (0.0, 0.0)


RULER = Ruler(2.0**-10, 1e-5)


@pytest.mark.parametrize(
    ("points", "agree", "unsure"),
    [
        pytest.param([[[2.0, 0.0], [0.5, 9.0]], [[-3.0, 0.0], NONE]], 1.0, 0.0, id="all as asked"),
        pytest.param([[[-2.0, 0.0]], [[3.0, 0.0]]], -1.0, 0.0, id="the other way round"),
        pytest.param([[[2.0, 0.0]] * 2, [[3.0, 0.0]] * 2], 0.0, 0.0, id="all as one class"),
        pytest.param([[[1e-6, 0.0], [1.0, 0.0]], [[-1.0, 0.0]] * 2], 1.0, 0.5, id="one lies between"),
        pytest.param([[NONE], [NONE]], None, 0.0, id="no image"),
        pytest.param([[[2.0, 0.0]]], None, 0.0, id="one class"),
    ],
)
def test_words_agree_as_far_as_their_images_lie_nearest_to_the_class_that_was_asked_for(
    points, agree, unsure
):
    measured = {**MEASURED, "means": MEASURED["means"][: len(points)]}
    found = agree_by_words(measured, [np.array(each) for each in points], RULER)
    assert found == (agree, unsure)


@pytest.mark.parametrize(
    ("recorded", "is_found"),
    [(0.5, True), (0.55, True), (0.57, False), (0.451, False), (0.45, True), (None, False)],
)
def test_words_on_record_agree_as_far_as_images_between_two_classes_leave_open(recorded, is_found):
    figures = Figures(1.5, 0.5, 0.25, 0.5, 0.5, 0.05)
    written = AssessedFigures(
        classes_apart=1.5, distance=0.5, nearest=0.25, agreement=0.5, words_agree=recorded
    )
    assert figures.could_round_to(written) == is_found


@pytest.mark.statistical
def test_images_that_do_not_differ_by_class_are_told_apart_no_better_than_by_chance_and_others_are():
    found = {gap: [] for gap in (0.0, 1.5)}
    for seed in range(200):
        random = np.random.default_rng([9, seed])
        rows = random.normal(size=(4, 8, 16))
        for gap, values in found.items():
            values.append(separability([*(rows + gap * np.eye(4, 16)[:, None])]))
    assert abs(np.mean(found[0.0])) < 0.03
    assert np.mean(found[1.5]) > 0.3
    assert separability([rows[0], np.full((3, 16), np.nan)]) is None


@pytest.mark.parametrize(
    ("found", "recorded"),
    [
        ((1.504, 0.7512, 0.3333, 0.496), (1.5, 0.75, 0.33, 0.5)),
        ((246.93, 0.75, 0.5, None), (246.9, 0.75, 0.5, None)),
        ((246.96, 0.75, 0.5, None), (247.0, 0.75, 0.5, None)),
        ((None, 0.75, 0.5, -0.7), (None, 0.75, 0.5, -0.7)),
    ],
)
def test_figures_go_on_record_with_as_many_digits_as_machines_agree_on(found, recorded):
    apart, far, nearest, alike = recorded
    rounded = AssessedFigures(classes_apart=apart, distance=far, nearest=nearest, agreement=alike)
    assert Figures(*found).round() == rounded
    assert Figures(*found).could_round_to(rounded)


@pytest.mark.parametrize(
    ("recorded", "is_found"),
    [
        ((1.5, 0.75, 0.25, 0.5), True),
        ((1.5, 0.76, 0.25, 0.5), True),  # 0.75499 is nearly in the middle
        ((1.5, 0.75, 0.26, 0.5), True),  # and so is 0.25499
        ((1.51, 0.75, 0.25, 0.5), False),
        ((1.5, 0.75, 0.25, 0.49), False),
        ((1.5, 0.7500001, 0.25, 0.5), False),
        ((1.5, 0.75, 0.2500001, 0.5), False),
        ((None, 0.75, 0.25, 0.5), False),
        ((1.5, 0.77, 0.25, 0.5), False),
        ((1.5, 0.74, 0.25, 0.5), False),
        ((1.5, 0.75, 0.24, 0.5), False),
        ((1.5, 0.75, 0.25, None), False),
    ],
)
def test_an_assessment_on_record_is_what_was_found_but_for_a_figure_in_the_middle_of_two(recorded, is_found):
    apart, far, nearest, alike = recorded
    written = AssessedFigures(classes_apart=apart, distance=far, nearest=nearest, agreement=alike)
    assert Figures(1.5, 0.75499, 0.25499, 0.5).could_round_to(written) == is_found


def find_figures(scene: SelectionInput, measured: Measurement, events: tuple[Event, Event]) -> Figures:
    """Of the first candidates of each class, as if they were the dataset."""
    scene = scene.with_recorded_frame(measured["centre"], measured["axes"])
    points = [project(pool[:5], measured["centre"], measured["axes"]) for pool in scene.pools]
    far = distances(measured, scene, events, points)
    assert far is not None
    return Figures(classes_apart(measured, scene, events), *far, agreement(measured, points))


@pytest.mark.parametrize(("jitter", "shots"), [(1e-3, 3), (1e-3, 1000), (1.0, 1000)])
def test_an_honest_assessment_is_believed_on_a_machine_that_rounds_otherwise(jitter: float, shots: int):
    """Candidates of four motifs; embeddings of the other machine differ by a millionth."""
    events = (Event("gaussian", "4/5"), Event("gaussian", "2/5"))
    for seed in range(10):
        random = np.random.default_rng(seed)
        motifs = random.normal(size=(4, WIDTH))
        pools = tuple(
            motifs[random.integers(4, size=60)] + jitter * random.normal(size=(60, WIDTH)) for _ in "abc"
        )
        scene = SelectionInput(tuple("abc"), pools, 4, shots, 1, 0, 7, "replace-one")
        images = motifs[random.integers(4, size=3 * shots)] + 0.3 * random.normal(size=(3 * shots, WIDTH))
        private = PrivateEmbeddings(images, np.repeat(np.arange(3), shots), np.arange(3 * shots))
        measured = Means().measure(private, scene, events, SeededNoise(seed))
        other = replace(scene, pools=tuple(pool + 1e-6 * random.normal(size=pool.shape) for pool in pools))
        assert Means().could_measure(measured, other, events)
        assert find_figures(other, measured, events).could_round_to(
            find_figures(scene, measured, events).round()
        )


def test_rounding_of_what_was_hardly_kept_tells_no_classes_apart():
    far = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        motifs = random.normal(size=(4, WIDTH))
        pools = tuple(
            motifs[random.integers(4, size=60)] + 3e-3 * random.normal(size=(60, WIDTH)) for _ in "abc"
        )
        scene = SelectionInput(tuple("abc"), pools, 4, 3, 1, 0, 7, "replace-one")
        private = PrivateEmbeddings(
            motifs[random.integers(4, size=9)], np.repeat(np.arange(3), 3), np.arange(9)
        )
        events = (Event("gaussian", "6"), Event("gaussian", "3"))
        measured = Means().measure(private, scene, events, SeededNoise(seed))
        far.append(find_figures(scene, measured, events).classes_apart)
    assert max(far) < 5


@pytest.mark.parametrize(
    ("encoder", "shots", "noise", "alike"),
    [
        ("joined", 10, "0.65", 0.65),
        ("joined", 10, "0.66", None),
        ("joined", 50, "0.65", 0.72),
        ("joined", 50, "3.25", 0.72),
        ("joined", 50, "3.26", None),
        ("bundled", 10, "0.01", None),
        ("mobilenet", 10, "0.01", None),
    ],
)
def test_agreement_alone_decides_where_two_encoders_selected_with_as_little_noise_as_was_measured(
    encoder: str, shots: int, noise: str, alike: float | None
):
    """Of ten shots a multiplier of .65 leaves .13 of the radius to which deviations are clipped on each axis."""
    plan = small_plan(method="dp-means", encoder=encoder, shots=shots, relation="replace-one")
    assert find_alike(plan, (Event("gaussian", "9"), Event("gaussian", noise))) == alike
