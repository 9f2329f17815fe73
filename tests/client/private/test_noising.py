"""DPImg's release: the private images themselves under noise, and what bounds a unit's influence on it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from pcevolve.auditing import audit
from pcevolve.dp.mechanisms import FloatArray, SecureNoise, SeededNoise
from pcevolve.dp.sensitivity import slots_sensitivity
from pcevolve.methods import method
from pcevolve.privacy import Event
from pcevolve.private.noising import SAMPLE, expected_seconds
from pcevolve.public.noised import choices_of, files_in, measurement_of, png, shape_of
from pcevolve.selectors.noised import BLANK, drawn_places, noised, sigma_of
from pcevolve_shared import images
from support.noised import noised_plan, noised_run

UNITS = {"one image each": (0, 1, 2), "two of one unit": (0, 0, 1), "a unit in both classes": (0, 1, 1)}


class Told(SeededNoise):
    """Draws what it is told, and first the first of all it was not told about; adds no noise.

    Attributes:
        counts: Among how many each draw was.
    """

    def __init__(self, draws: tuple[int, ...]) -> None:
        super().__init__(0)
        self.draws, self.counts = draws, list[int]()

    def uniform(self, key: str, count: int) -> int:
        place = len(self.counts)
        self.counts.append(count)
        return self.draws[place] if place < len(self.draws) else 0


def orders(targets: tuple[int, ...], units: tuple[int, ...], wanted: int) -> Counter[tuple[int, ...]]:
    """The probability of each way in which images can stand in the places of two classes, by going through all."""
    found: Counter[tuple[int, ...]] = Counter()
    untried: list[tuple[int, ...]] = [()]
    while untried:
        told = untried.pop()
        noise = Told(told)
        places = drawn_places(np.array(targets, int), np.array(units, int), 2, wanted, noise, "1")
        found[tuple(places.ravel().tolist())] += 1 / math.prod(noise.counts)
        for place in range(len(told), len(noise.counts)):
            zeros = (0,) * (place - len(told))
            untried += [(*told, *zeros, drawn) for drawn in range(1, noise.counts[place])]
    return found


def moved(one: tuple[int, ...], other: tuple[int, ...], renamed: dict[int, int]) -> int:
    """In how many places two ways differ, the images of the second by their names in the first."""
    return sum(a != renamed.get(b, b) for a, b in zip(one, other, strict=True))


def coupled(
    one: Counter[tuple[int, ...]], other: Counter[tuple[int, ...]], renamed: dict[int, int], most: int
) -> bool:
    """Whether the two distributions can be had together so that no pair differs in more than ``most`` places."""
    pairs = [(a, b) for a in one for b in other if moved(a, b, renamed) <= most]
    if not pairs:
        return False
    rows = [[float(pair[0] == a) for pair in pairs] for a in one]
    rows += [[float(pair[1] == b) for pair in pairs] for b in other]
    found = linprog(np.zeros(len(pairs)), A_eq=np.array(rows), b_eq=[*one.values(), *other.values()])
    return bool(found.status == 0)


@pytest.mark.parametrize("wanted", [1, 2])
@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
def test_a_unit_more_or_less_changes_one_place_at_most_whatever_order_it_stands_in(
    wanted: int, units: tuple[int, ...]
):
    targets = (0, 0, 1)
    with_it = orders(targets, units, wanted)
    for gone in set(units):
        kept = [place for place in range(3) if units[place] != gone]
        without = orders(
            tuple(targets[place] for place in kept), tuple(units[place] for place in kept), wanted
        )
        assert coupled(with_it, without, dict(enumerate(kept)), most=1)


def test_a_unit_that_changes_its_label_changes_two_places_at_most_and_needs_both():
    one, other = orders((0, 0, 1), (0, 1, 2), 2), orders((0, 1, 1), (0, 1, 2), 2)
    assert coupled(one, other, {1: 9}, most=2)
    assert not coupled(one, other, {1: 9}, most=1)


def test_images_in_the_order_of_their_names_would_move_every_place():
    """What a random order is for: one more image in front, and this test sees it."""
    assert not coupled(Counter({(0, 1): 1}), Counter({(9, 0): 1}), {}, most=1)


def test_a_place_moves_by_the_diagonal_of_the_cube_and_noise_is_a_multiple_of_that():
    assert slots_sensitivity(768, "add-remove") == math.sqrt(768)
    assert slots_sensitivity(768, "replace-one") == pytest.approx(math.sqrt(2 * 768))
    event = Event("gaussian", "3/2")
    assert sigma_of(event, 768, "add-remove") == pytest.approx(1.5 * math.sqrt(768))
    with pytest.raises(ValueError, match="does not pay"):
        sigma_of(Event("exponential", "1"), 768, "add-remove")


class Noiseless(SeededNoise):
    """Adds nothing, and keeps what it was asked to hide."""

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        return values


def released(values: Iterator[FloatArray]) -> list[FloatArray]:
    return list(values)


def test_values_are_forced_into_the_cube_before_the_noise_and_a_missing_unit_is_grey():
    wild = {0: np.array([-5.0, 7.0]), 1: np.array([np.nan, np.inf])}
    shown = released(noised(np.array([0, 1, -1]), wild.__getitem__, (2,), 1.0, Noiseless(0), "1"))
    assert np.array_equal(shown, [[0, 1], [0, 1], [BLANK, BLANK]])


def test_there_are_as_many_images_as_the_plan_says_whatever_the_classes_hold():
    none = np.zeros(0, int)
    assert (drawn_places(none, none, 2, 3, SecureNoise(), "1") == -1).all()
    many = drawn_places(np.zeros(9, int), np.arange(9), 2, 3, SecureNoise(), "1")
    assert many.shape == (2, 3)
    assert len({*many[0].tolist()}) == 3
    assert (many[1] == -1).all()


def test_a_noised_image_is_nothing_but_its_pixels_and_any_decoder_reads_it():
    pixels = np.random.default_rng(1).integers(0, 256, (7, 5, 3)).astype(np.uint8)
    assert np.array_equal(np.asarray(images.decode(png(pixels))), pixels)
    assert len(png(pixels)) == len(png(np.zeros_like(pixels)))


def test_a_large_image_needs_several_blocks_and_is_read_as_well():
    pixels = np.random.default_rng(1).integers(0, 256, (200, 300, 3)).astype(np.uint8)
    assert np.array_equal(np.asarray(images.decode(png(pixels))), pixels)


@pytest.mark.parametrize(
    "measurement",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(measurement_of(np.zeros((2, 2, 16, 16, 3), np.uint8)) + b" ", id="something behind it"),
        pytest.param(measurement_of(np.zeros((2, 1, 16, 16, 3), np.uint8)), id="fewer images"),
        pytest.param(measurement_of(np.zeros((2, 2, 16, 16, 3), np.float32)), id="other numbers"),
    ],
)
def test_a_measurement_has_one_form(measurement: bytes):
    with pytest.raises(ValueError, match="the measurement"):
        files_in(noised_plan(), measurement)


def test_a_run_releases_its_noised_images_and_they_are_what_left(tmp_path: Path):
    plan = noised_plan()
    run = noised_run(tmp_path, plan)
    (receipt,) = run.account.receipts()
    measured = run.account.measured(1)
    assert receipt.events == method("dpimg").planned(plan)[1]
    assert receipt.choices == choices_of(plan, measured)
    assert shape_of(plan) == (2, 2, 16, 16, 3)
    assert [fault for finding in audit(tmp_path) for fault in finding.faults] == []


def test_a_release_is_expected_to_take_as_long_as_noise_on_grey_for_as_many_values():
    plan, drawn = noised_plan(), list[FloatArray]()

    class Counting(SeededNoise):
        def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
            drawn.append(values)
            return super().gaussian(key, values, sigma)

    ticking = itertools.count()
    event = method("dpimg").planned(plan)[1][0]
    found = expected_seconds(plan, event, Counting(0), lambda: float(next(ticking)))
    assert found == pytest.approx(math.prod(shape_of(plan)) / SAMPLE)
    assert set(np.concatenate(drawn)) == {BLANK}
