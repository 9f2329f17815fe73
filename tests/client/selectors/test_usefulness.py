"""What is said of a dataset's use: from released numbers, right in the cases whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.privacy import Event
from pcevolve.public.usefulness import ALIKE, FAR, NEAR, TOLD_APART, Assessment
from pcevolve.selectors import PrivateEmbeddings, Scene
from pcevolve.selectors.frame import Frame
from pcevolve.selectors.means import Means, aims_of
from pcevolve.selectors.usefulness import agreement, distance, room, separation

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


def separation_of(seed: int, candidates: float, private: float) -> float:
    scene = scene_of(seed, candidates)
    found = separation(
        Means().measure(private_of(seed, private), scene, EVENTS, SeededNoise(seed)), scene, EVENTS
    )
    assert found is not None
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("candidates", [0.0, 6.0])
def test_classes_that_do_not_differ_are_not_told_apart_whatever_the_candidates_do(candidates: float):
    found = np.array([separation_of(seed, candidates, 0.0) for seed in range(300)])
    # A chi-squared of 32 degrees, standardised: mean 0, deviation 1; ten shots of noise of their own add a little.
    assert abs(found.mean()) < 0.35
    assert 0.8 < found.std() < 1.3
    assert (found > TOLD_APART).mean() < 0.08


def test_classes_that_differ_are_told_apart():
    found = [separation_of(seed, 0.0, 12.0) for seed in range(20)]
    assert min(found) > TOLD_APART


def test_a_single_class_has_nothing_to_be_told_from():
    scene = replace(scene_of(1), labels=("a",), pools=scene_of(1).pools[:1])
    private = PrivateEmbeddings(np.zeros((10, WIDTH)), np.zeros(10, dtype=np.int64), np.arange(10))
    measured = Means().measure(private, scene, EVENTS, SeededNoise(1))
    assert separation(measured, scene, EVENTS) is None


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
    assert separation(measured, scene, EVENTS) == 0.0


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
    ("separation", "distance", "alike", "word"),
    [
        (9.0, NEAR, ALIKE, "useful"),
        (None, NEAR, None, "useful"),
        (9.0, NEAR + 0.01, 1.0, "doubtful"),
        (9.0, 0.5, ALIKE - 0.01, "doubtful"),
        (TOLD_APART - 0.01, 0.5, 1.0, "doubtful"),
        (9.0, FAR, 1.0, "doubtful"),
        (TOLD_APART, FAR + 0.01, ALIKE, "doubtful"),
        (TOLD_APART - 0.01, FAR + 0.01, 1.0, "not useful"),
        (9.0, FAR + 0.01, ALIKE - 0.01, "not useful"),
        (None, FAR + 0.01, None, "not useful"),
        (9.0, FAR + 0.01, None, "not useful"),
        (0.0, FAR + 0.01, -1.0, "not useful"),
    ],
)
def test_the_word_follows_from_the_bounds(
    separation: float | None, distance: float, alike: float | None, word: str
):
    found = Assessment(separation=separation, distance=distance, agreement=alike)
    assert found.word == word
    assert f"{distance:.2f} clip radii" in found.reason("image")
    assert ("cosine" in found.reason("image")) == (alike is not None)
    assert found.advice("image")


def test_the_advice_names_what_is_missing():
    assert "lessen the noise" in Assessment(separation=0.0, distance=0.5).advice("image")
    assert "class names that say" in Assessment(separation=9.0, distance=0.5, agreement=0.1).advice("image")
    assert "draws your domain better" in Assessment(separation=9.0, distance=1.0).advice("image")
    assert "epsilon is not what is missing" in Assessment(separation=0.0, distance=1.5).advice("image")
    assert (
        Assessment(separation=9.0, distance=0.5).advice("image")
        == "test it on held-out data of your own before you rely on it"
    )


def test_numbers_that_are_none_are_no_assessment():
    for values in (
        {"separation": float("nan"), "distance": 1},
        {"separation": 1, "distance": -1},
        {"separation": 1, "distance": 1, "agreement": 1.01},
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
    found = Assessment(separation=1.5, distance=0.75, agreement=0.5)
    written = Assessment(separation=recorded[0], distance=recorded[1], agreement=recorded[2])
    assert room(written, found) == bits
    assert room(None, found) is None
    assert room(found, None) is None
    assert room(None, None) == 0
