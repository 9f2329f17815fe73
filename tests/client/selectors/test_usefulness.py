"""What is said of a dataset's use: from released numbers, right in the cases whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.geometry.frame import Frame
from pcevolve.privacy import Event
from pcevolve.public.usefulness import Assessment
from pcevolve.selectors import PrivateEmbeddings, Scene
from pcevolve.selectors.means import Means, aims_of
from pcevolve.selectors.usefulness import agreement, classes_apart, distance, room

CLASSES, SHOTS, WIDTH = 3, 10, 24
EVENTS = (Event("gaussian", "3/2"), Event("gaussian", "3/4"))


def scene_of(seed: int, gap: float = 0.0, frame: Frame | None = None) -> Scene:
    """Candidates whose classes lie ``gap`` apart."""
    random = np.random.default_rng([seed, 1])
    pools = tuple(random.normal(size=(60, WIDTH)) + gap * np.eye(WIDTH)[target] for target in range(CLASSES))
    names = tuple("abc"[:CLASSES])
    return Scene(names, pools, 4, SHOTS, 1, 0, 7, "replace-one", frame=frame)


def private_of(seed: int, gap: float) -> PrivateEmbeddings:
    random = np.random.default_rng([seed, 2])
    targets = np.repeat(np.arange(CLASSES), SHOTS)
    return PrivateEmbeddings(
        random.normal(size=(len(targets), WIDTH)) * 0.1 + gap * np.eye(WIDTH)[targets],
        targets,
        np.arange(len(targets)),
    )


def apart_of(seed: int, candidates: float, private: float) -> float:
    scene = scene_of(seed, candidates)
    found = classes_apart(
        Means().measure(private_of(seed, private), scene, EVENTS, SeededNoise(seed)), scene, EVENTS
    )
    assert found is not None
    return found


def released(offsets: np.ndarray, relation: str, shots: int = 10) -> tuple[dict[str, np.ndarray], Scene]:
    """Deviations of classes as they were drawn, float64 ``(classes, 16)``, in a frame that keeps all of them."""
    frame = Frame(np.zeros(WIDTH), np.eye(WIDTH, 16), 1.0, np.full(16, 1e12))
    names = tuple("abcdefghij"[: len(offsets)])
    pools = tuple(np.zeros((4, WIDTH)) for _ in names)
    scene = Scene(names, pools, 4, shots, 1, 0, 7, relation, frame=frame)
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
    measured, scene = released(offsets, relation)
    assert classes_apart(measured, scene, EVENTS) == pytest.approx(apart, abs=0.01)


def test_of_several_classes_it_is_the_root_of_the_mean_square_over_pairs():
    # 3, 4 and 5 units of the noise in a right-angled triangle, each square with the 32 that noise adds to a pair
    offsets = np.zeros((3, 16))
    offsets[1, 0], offsets[2, 1] = 3.0, 4.0
    offsets[:, 4:7] = 4.0 * np.eye(3)
    measured, scene = released(SIGMA["replace-one"] * offsets, "replace-one")
    assert classes_apart(measured, scene, EVENTS) == pytest.approx(np.sqrt((9 + 16 + 25) / 3), abs=0.01)


@pytest.mark.statistical
@pytest.mark.parametrize("classes", [2, 5, 10])
@pytest.mark.parametrize(("shots", "apart"), [(10, 6.0), (150, 90.0)])
def test_it_is_right_in_the_mean_and_grows_as_the_noise_shrinks_whatever_the_number_of_classes(
    classes: int, shots: int, apart: float
):
    random, sigma = np.random.default_rng([classes, shots]), 0.75 / shots
    # corners of a simplex: all pairs are 6 standard deviations of ten shots' noise apart
    corners = np.eye(classes, 16) * 6.0 * 0.075 / np.sqrt(2)
    found = []
    for _ in range(300):
        measured, scene = released(corners + random.normal(size=(classes, 16)) * sigma, "replace-one", shots)
        found.append(classes_apart(measured, scene, EVENTS))
    assert np.mean(found) == pytest.approx(apart, rel=0.05)


@pytest.mark.statistical
@pytest.mark.parametrize("candidates", [0.0, 6.0])
def test_classes_that_do_not_differ_are_not_told_apart_whatever_the_candidates_do(candidates: float):
    found = np.array([apart_of(seed, candidates, 0.0) for seed in range(300)])
    assert (found == 0.0).mean() > 0.35
    assert (found >= 5.0).mean() < 0.04


@pytest.mark.statistical
def test_noise_alone_tells_two_classes_apart_in_three_of_a_hundred_releases():
    random = np.random.default_rng(5)
    found = [
        classes_apart(*released(random.normal(size=(2, 16)) * 0.075, "replace-one"), EVENTS)
        for _ in range(4000)
    ]
    assert 0.018 < np.mean([each >= 5.0 for each in found]) < 0.038


def test_classes_that_differ_are_told_apart():
    assert min(apart_of(seed, 0.0, 12.0) for seed in range(20)) > 5.0


@pytest.mark.statistical
@pytest.mark.parametrize("apart", [2.0, 5.0])
def test_noise_takes_one_class_for_the_other_as_often_as_is_said(apart: float):
    random, here, there = np.random.default_rng(1), np.zeros(16), np.zeros(16)
    there[2] = apart
    drawn = here + random.normal(size=(200_000, 16))
    nearer = np.linalg.norm(drawn - there, axis=1) < np.linalg.norm(drawn - here, axis=1)
    said = Assessment(classes_apart=apart, distance=1.0).confusion
    assert nearer.mean() == pytest.approx(said, rel=0.07)


def test_a_single_class_has_nothing_to_be_told_from():
    scene = replace(scene_of(1), labels=("a",), pools=scene_of(1).pools[:1])
    private = PrivateEmbeddings(np.zeros((10, WIDTH)), np.zeros(10, dtype=np.int64), np.arange(10))
    measured = Means().measure(private, scene, EVENTS, SeededNoise(1))
    assert classes_apart(measured, scene, EVENTS) is None


def test_the_distance_is_that_of_the_images_to_where_their_class_was_released_in_clip_radii():
    scene = scene_of(1, 6.0)
    measured = Means().measure(private_of(1, 6.0), scene, EVENTS, SeededNoise(1))
    aims, radius = aims_of(measured), scene.coordinates.radius
    step = np.eye(aims.shape[1])[:1] * radius
    points = [np.concatenate([aim + step, aim - step, np.full_like(step, np.nan)]) for aim in aims]
    assert distance(measured, scene, points) == 1.0
    # a class of which the provider sent no image does not count, and without any there is no distance
    assert distance(measured, scene, [points[0] * np.nan, *points[1:]]) == 1.0
    assert distance(measured, scene, [points[0] * np.nan, 2 * points[1] - aims[1], points[2]]) == 1.5
    assert distance(measured, scene, [rows * np.nan for rows in points]) is None


def test_candidates_that_are_all_the_same_tell_no_classes_apart():
    scene = replace(scene_of(1), pools=tuple(np.ones((60, WIDTH)) for _ in range(CLASSES)))
    measured = Means().measure(private_of(1, 12.0), scene, EVENTS, SeededNoise(1))
    assert classes_apart(measured, scene, EVENTS) == 0.0


def test_agreement_is_the_cosine_between_the_ways_in_which_classes_differ():
    measured = Means().measure(private_of(1, 12.0), scene_of(1, 12.0), EVENTS, SeededNoise(1))
    aims = aims_of(measured)
    shift = np.linspace(-3, 3, aims.shape[1])
    spread = [np.stack([aim + each for each in (0.1, -0.1, np.nan)]) for aim in aims]
    assert agreement(measured, spread) == 1.0
    assert agreement(measured, [shift + 0.2 * rows for rows in spread]) == 1.0
    assert agreement(measured, [shift - 0.2 * rows for rows in spread]) == -1.0
    assert agreement(measured, [spread[0]] * CLASSES) == 0.0
    random = np.random.default_rng(1).normal(size=(CLASSES, 5, aims.shape[1]))
    assert abs(agreement(measured, list(random)) or 0) < 0.7
    # a class without images does not count, and one class differs from nothing
    assert agreement(measured, [spread[0] * np.nan, *spread[1:]]) == 1.0
    assert agreement(measured, [spread[0], *(rows * np.nan for rows in spread[1:])]) is None


@pytest.mark.parametrize(
    ("apart", "distance", "alike", "word"),
    [
        (9.0, 0.90, 0.80, "useful"),
        (5.0, 0.90, 0.80, "useful"),
        (None, 0.90, None, "useful"),
        (9.0, 0.91, 1.0, "doubtful"),
        (9.0, 0.5, 0.79, "doubtful"),
        (4.99, 0.5, 1.0, "doubtful"),
        (9.0, 1.10, 1.0, "doubtful"),
        (9.0, 1.10, 0.0, "doubtful"),
        (5.0, 1.11, 0.80, "doubtful"),
        (4.99, 1.11, 1.0, "not useful"),
        (9.0, 1.11, 0.79, "not useful"),
        (None, 1.11, None, "not useful"),
        (9.0, 1.11, None, "not useful"),
        (0.0, 1.11, -1.0, "not useful"),
    ],
)
def test_the_word_follows_from_the_bounds(
    apart: float | None, distance: float, alike: float | None, word: str
):
    found = Assessment(classes_apart=apart, distance=distance, agreement=alike)
    assert found.word == word
    assert f"{distance:.2f} clip radii" in found.reason("image")
    assert ("cosine" in found.reason("image")) == (alike is not None)
    assert found.advice("image")


@pytest.mark.parametrize(
    ("apart", "said"),
    [
        (0.0, "0.0 standard deviations of the noise apart, on average over pairs (told apart: from 5), so noise takes "
              "one for the other with a probability of 0.5"),
        (2.0, "2.0 standard deviations of the noise apart, on average over pairs (told apart: from 5), so noise takes "
              "one for the other with a probability of 0.16"),
        (5.0, "probability of 0.0062"),
        (7.4, "probability of 0.00011"),
        (7.5, "probability of less than 0.0001"),
        (127.0, "127.0 standard deviations of the noise apart, on average over pairs (told apart: from 5), so noise "
                "takes one for the other with a probability of less than 0.0001"),
        (None, "there is one class"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["image", "text"])
def test_the_reason_says_how_far_classes_are_apart_and_how_often_noise_confuses_them(apart, said: str, kind):
    reason = Assessment(classes_apart=apart, distance=0.5, agreement=0.85).reason(kind)
    assert said in reason
    assert f"the {kind}s lie 0.50 clip radii from what was released about their class" in reason
    assert "(near: up to 0.9, another domain: from 1.1)" in reason
    assert "by a cosine of 0.85 (alike: from 0.8)" in reason


def test_the_advice_names_what_is_missing():
    assert "lessen the noise" in Assessment(classes_apart=4.9, distance=0.5).advice("image")
    assert "class names that say" in Assessment(classes_apart=5.1, distance=0.5, agreement=0.79).advice(
        "image"
    )
    assert "class names that say" in Assessment(classes_apart=5.1, distance=0.9, agreement=0.79).advice(
        "image"
    )
    assert "draws your domain better" in Assessment(classes_apart=5.1, distance=0.91).advice("image")
    assert "epsilon is not what is missing" in Assessment(classes_apart=0.0, distance=1.5).advice("image")
    assert (
        Assessment(classes_apart=9.0, distance=0.5).advice("image")
        == "test it on held-out data of your own before you rely on it"
    )


def test_numbers_that_are_none_are_no_assessment():
    for values in (
        {"classes_apart": float("nan"), "distance": 1},
        {"classes_apart": -0.01, "distance": 1},
        {"classes_apart": 1, "distance": -1},
        {"classes_apart": 1, "distance": 1, "agreement": 1.01},
    ):
        with pytest.raises(ValidationError):
            Assessment(**values)


@pytest.mark.parametrize(
    ("recorded", "bits"),
    [
        ((1.5, 0.75, 0.5), 0),
        ((1.51, 0.74, 0.49), 5),
        ((1.52, 0.75, 0.5), None),
        ((1.5, 0.7500001, 0.5), None),
        ((None, 0.75, 0.5), None),
        ((1.5, 0.77, 0.5), None),
        ((1.5, 0.75, 0.52), None),
        ((1.5, 0.75, None), None),
    ],
)
def test_an_assessment_on_record_is_what_was_found_but_for_rounding(recorded, bits):
    found = Assessment(classes_apart=1.5, distance=0.75, agreement=0.5)
    written = Assessment(classes_apart=recorded[0], distance=recorded[1], agreement=recorded[2])
    assert room(written, found) == bits
    assert room(None, found) is None
    assert room(found, None) is None
    assert room(None, None) == 0
