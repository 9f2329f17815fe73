"""The benchmark's yardsticks: their sums are bounded as their noise assumes, and their images look as released."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.selectors.design import NEAREST_MEAN, RANDOM_PHASE, Trial
from benchmarks.selectors.trial import measure
from benchmarks.selectors.yardsticks import (
    CENTRE,
    RADIUS,
    RINGS,
    clipped_sums,
    painted,
    random_phase,
    spectra,
)
from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.private.dataset import PrivateDataset

TRIAL = Trial("digits:3,5,8", RANDOM_PHASE, "10", 10, 0, candidates=6)


def dataset(pixels: list[np.ndarray], targets: list[int]) -> PrivateDataset:
    pictures = tuple(Image.fromarray(each.astype(np.uint8)).convert("RGB") for each in pixels)
    units = tuple(b"%d" % place for place in range(len(pictures)))
    return PrivateDataset(("cut", "good"), pictures, np.array(targets), units)


def extremes() -> list[np.ndarray]:
    """Images whose spectra lie as far from the centre as any: flat black and white, and a checkerboard."""
    board = 255 * (np.indices((64, 64)).sum(axis=0) % 2)
    return [
        np.zeros((64, 64)),
        np.full((64, 64), 255),
        board,
        np.random.default_rng(1).integers(0, 256, (64, 64)),
    ]


def test_no_replaced_image_moves_the_sums_by_more_than_two_radii():
    moved = []
    for first in extremes():
        for second in extremes():
            for target in (0, 1):
                one = clipped_sums(dataset([first, extremes()[3]], [0, 1]))
                other = clipped_sums(dataset([second, extremes()[3]], [target, 1]))
                moved.append(np.linalg.norm(one - other))
    assert RADIUS < max(moved) <= 2 * RADIUS


def test_painted_images_have_the_spectrum_and_tone_that_were_released():
    wanted = CENTRE.copy()
    wanted[:RINGS] -= 1.5  # little contrast, so that nothing is cut off
    found = spectra(painted(wanted, 40, (1,))).mean(axis=0)
    assert np.abs(found - wanted)[1 : RINGS - 1].max() < 0.3
    assert abs(found[RINGS] - wanted[RINGS]) < 0.1


def test_classes_of_different_tone_get_images_of_different_tone():
    dark, light = (
        np.full((64, 64), tone) + np.random.default_rng(1).integers(0, 40, (64, 64)) for tone in (20, 200)
    )
    images, targets = random_phase(
        TRIAL, dataset([dark] * 10 + [light] * 10, [0] * 10 + [1] * 10), SeededNoise(1)
    )
    tones = np.array([np.asarray(each).mean() for each in images])
    assert targets == [0] * 6 + [1] * 6
    assert tones[:6].mean() + 20 < tones[6:].mean()


def test_the_nearest_released_mean_is_measured_on_the_voter_alone(tmp_path: Path):
    found = measure(dataclasses.replace(TRIAL, method=NEAREST_MEAN, epsilon="20"), tmp_path)
    (verdict,) = found["verdicts"]
    assert verdict["voted"]
    assert verdict["judge"] == "bundled"
    assert verdict["accuracy"] == pytest.approx(0.95, abs=0.06)
