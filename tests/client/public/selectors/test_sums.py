"""The release of the private images' appearance: its sensitivity, its noise, and what noise does to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from PIL import Image

from pcevolve.public.dp.mechanisms import Noise, SecureNoise
from pcevolve.public.geometry.frame import Frame
from pcevolve.public.media.images.appearance import Appearance, measure_appearances
from pcevolve.public.privacy import Event
from pcevolve.public.selectors.selection import PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.sums import CentreFirst, release_appearance
from support.neighbours import Observer

PRIOR = Appearance(*[0.5] * 6)
Pictures = tuple[Image.Image, ...]
QUIET = Event("gaussian", str(Fraction(1, 10**6)))


def two_tone(ground: int, ink: int) -> Image.Image:
    pixels = np.full((20, 20, 3), ground, dtype=np.uint8)
    pixels[8:12, 8:12] = ink
    return Image.fromarray(pixels)


def corner() -> Image.Image:
    """As extreme as an image can be: black, its subject white and in a corner."""
    pixels = np.zeros((20, 20, 3), dtype=np.uint8)
    pixels[:6, :6] = 255
    return Image.fromarray(pixels)


PICTURES = (two_tone(0, 255), two_tone(255, 0), two_tone(0, 0), two_tone(120, 200), corner())


def release(
    pictures: Pictures, event: Event, relation: str, noise: Noise, unit_of: Sequence[int] = ()
) -> Appearance:
    units = np.array(unit_of or range(len(pictures)))
    return release_appearance(measure_appearances(pictures), units, 4, PRIOR, event, relation, noise)


def sum_looks(
    pictures: Pictures,
    relation: str = "replace-one",
    event: Event = QUIET,
    unit_of: Sequence[int] = (),
) -> tuple[np.ndarray, float]:
    """Return what is noised, and the noise's standard deviation."""
    noise = Observer()
    release(pictures, event, relation, noise, unit_of)
    ((_, values, sigma),) = noise.asked
    return values, sigma


def largest_moves() -> tuple[float, float]:
    """Over all datasets of three images: the most that replacing, and that removing, one moves what is noised."""
    replaced = removed = 0.0
    for start in product(PICTURES, repeat=3):
        before, _ = sum_looks(start)
        removed = max(removed, np.linalg.norm(before - sum_looks(start[1:])[0]))
        for other in PICTURES:
            replaced = max(replaced, np.linalg.norm(before - sum_looks((other, *start[1:]))[0]))
    return float(replaced), float(removed)


@pytest.mark.statistical
def test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity_that_is_claimed():
    replaced, removed = largest_moves()
    claimed = {r: sum_looks(PICTURES, r, Event("gaussian", "1"))[1] for r in ("replace-one", "add-remove")}
    assert replaced <= claimed["replace-one"] <= 2.001
    assert removed <= claimed["add-remove"] <= 1.001
    assert replaced > 0.7 * claimed["replace-one"]  # 30 % less would not be enough
    assert removed > 0.7 * claimed["add-remove"]


def test_a_unit_of_many_images_counts_as_one():
    alone, _ = sum_looks(PICTURES[:1])
    many, _ = sum_looks((PICTURES[0],) * 5, unit_of=(7,) * 5)
    assert many == pytest.approx(alone, abs=1e-6)


def test_without_noise_it_is_the_mean():
    pictures = PICTURES[:4]  # none of them clipped
    found = release(pictures, QUIET, "replace-one", SecureNoise())
    mean = np.mean([Appearance.of(each).vector for each in pictures], axis=0)
    assert found.vector == pytest.approx(mean, abs=1e-4)


@pytest.mark.statistical
def test_the_noise_has_the_deviation_that_was_paid_for():
    event, draws = Event("gaussian", "1/8"), 400
    rows = [release(PICTURES, event, "add-remove", SecureNoise()).vector for _ in range(draws)]
    sigma = 1 / 8 / 4
    trusted = 0.1 / (0.1 + sigma**2)
    middle = np.array(rows)[:, :2]  # ground and ink lie inside the cube, where nothing is cut off
    measured = float(middle.std(axis=0, ddof=1).mean())
    assert abs(measured / (trusted * sigma) - 1) < 4 / math.sqrt(2 * middle.size) + 0.02
    assert abs(measured / (0.7 * trusted * sigma) - 1) > 0.2


@pytest.mark.parametrize(("relation", "sigma"), [("replace-one", 2.0), ("add-remove", 1.0)])
def test_the_noise_of_an_appearance_is_the_multiplier_times_the_sensitivity(relation, sigma):
    assert sum_looks(PICTURES, relation, Event("gaussian", "1"))[1] == pytest.approx(sigma, rel=1e-9)
    assert sum_looks(PICTURES, relation, Event("gaussian", "1/2"))[1] == pytest.approx(sigma / 2, rel=1e-9)


def test_a_noisy_appearance_is_drawn_towards_the_guess_by_the_noise_against_a_variance_of_a_tenth():
    pictures = PICTURES[:4]  # none of them clipped
    found = release(pictures, Event("gaussian", "1"), "add-remove", Observer())
    mean = np.mean([Appearance.of(each).vector for each in pictures], axis=0)
    assert found.vector == pytest.approx(0.5 + 0.1 / (0.1 + 1 / 16) * (mean - 0.5), abs=1e-6)


def test_deviations_before_they_were_drawn_to_the_candidates_are_found_again_where_enough_was_kept_of_them():
    random = np.random.default_rng(3)
    pools = tuple(
        random.normal(size=(60, 8)) * np.geomspace(3, 0.001, 8) + 2 * np.eye(8)[k] for k in range(2)
    )
    scene = SelectionInput(
        ("cut", "good"), pools, 4, 10, iteration=1, iterations=3, seed=7, relation="add-remove"
    )
    frame, events, noise = (
        Frame.of(np.concatenate(pools)),
        (Event("gaussian", "1"), Event("gaussian", "2")),
        Observer(),
    )
    private = PrivateEmbeddings(random.normal(size=(20, 8)), np.repeat([0, 1], 10), np.arange(20))
    released = CentreFirst(frame, scene, events)
    measured = released.release(private, noise)
    (_, pooled, first), (_, sums, second) = noise.asked
    assert (first, second) == pytest.approx((frame.radius, frame.radius))  # 1 R, and 2 times R / 2
    assert np.linalg.norm(pooled) <= 20 * frame.radius
    found, sigma, _ = released.recover_noisy_deviations(measured)
    assert sigma == pytest.approx(second / 10)
    told = frame.shrinkage(sigma) * sigma > frame.radius / 64 / 512
    assert 1 < told.sum() < 8
    assert found.shape == (2, told.sum())
    assert np.abs(found - sums[:, told] / 10).max() < 0.02 * sigma / frame.shrinkage(sigma)[told].min()
    assert released.deviation_noise == pytest.approx(np.linalg.norm(frame.shrinkage(sigma) * sigma))
