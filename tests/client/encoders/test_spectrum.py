"""The second view: power by band, of one image alone, and a frame in which a quarter of the spread is its."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open

from pcevolve.encoders import (
    BUNDLED_FRAMES,
    BUNDLED_WEIGHTS,
    SPECTRAL,
    bundled_digest,
    frame_digest,
    load_encoder,
    named_weights,
)
from pcevolve.encoders.spectrum import EDGES, FLOOR, SIDE, WEIGHT, spectrum
from support.paid import encoder as bundled


def wave(cycles: int, across: bool = True) -> Image.Image:
    """A grating of so many cycles per image."""
    line = 127.5 + 100 * np.cos(2 * np.pi * cycles * np.arange(SIDE) / SIDE)
    pixels = np.tile(line, (SIDE, 1)) if across else np.tile(line[:, None], (1, SIDE))
    return Image.fromarray(np.rint(pixels).astype(np.uint8)).convert("RGB")


@pytest.fixture(scope="module")
def both():
    return load_encoder(SPECTRAL)


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize("band", range(len(EDGES) - 1))
def test_a_grating_has_its_power_in_its_own_band(band: int, across: bool):
    found = spectrum(wave(EDGES[band], across))
    assert found.argmax() == band
    assert np.sort(found)[-2] < found.max() - 5


def test_a_flat_image_has_the_power_of_rounding_everywhere():
    assert spectrum(Image.new("RGB", (200, 90), (7, 80, 200))) == pytest.approx(np.log(FLOOR))


def test_every_frequency_below_the_last_edge_counts_once():
    noise = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE), dtype=np.uint8)
    luminance = noise / 255.0
    power = np.abs(np.fft.fft2(luminance - luminance.mean())) ** 2
    length = np.hypot(*np.meshgrid(*[np.fft.fftfreq(SIDE) * SIDE] * 2))
    expected = [power[(length >= low) & (length < high)].mean() for low, high in itertools.pairwise(EDGES)]
    found = spectrum(Image.fromarray(noise).convert("RGB"))
    assert found == pytest.approx(np.log(np.array(expected) + FLOOR), abs=1e-5)


def test_the_embedding_is_the_bundled_one_and_the_spectrum(both):
    images = [wave(3), None, wave(9)]
    rows = both.embed(images)
    assert rows.shape == (3, both.dimension)
    assert np.array_equal(rows[[0, 2], :256], bundled().embed([images[0], images[2]]))
    assert np.array_equal(rows[2, 256:], WEIGHT * spectrum(images[2]))
    assert np.isnan(rows[1]).all()


def test_an_image_has_the_same_bits_among_others(both):
    images = [wave(each) for each in (1, 5, 20)]
    assert np.array_equal(both.embed(images)[1], both.embed([images[1]])[0])


def test_no_images_have_no_embeddings(both):
    assert both.embed([]).shape == (0, both.dimension)


def test_it_brings_a_frame_of_its_own_in_which_a_quarter_or_so_is_the_spectrums(both):
    assert both.frame.digest == frame_digest(SPECTRAL, None) != frame_digest("bundled", None)
    by_axis = np.square(both.frame.axes[256:, :16]).sum(axis=0)
    share = (by_axis * both.frame.variances[:16]).sum() / both.frame.variances[:16].sum()
    assert 0.2 < share < 0.35


def test_its_frame_is_of_the_weights_that_are_installed():
    with safe_open(BUNDLED_FRAMES[SPECTRAL], "numpy") as file:
        assert file.metadata() == {"weights": bundled_digest()}
    assert named_weights(SPECTRAL, None) == bundled_digest()


def test_weights_of_its_owner_bring_no_frame():
    assert load_encoder(SPECTRAL, str(BUNDLED_WEIGHTS)).frame is None
