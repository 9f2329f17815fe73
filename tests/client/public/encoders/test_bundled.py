"""The bundled encoder: its weights, its frame, a spectrum beside it, and one thread for each worker."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open

from pcevolve.public.encoders import (
    BUNDLED,
    BUNDLED_FRAMES,
    BUNDLED_WEIGHTS,
    SPECTRAL,
    bundled_digest,
    frame_digest,
    load_encoder,
    named_weights,
)
from pcevolve.public.encoders.bundled import EDGES, EMBEDDING_SIZE, SIDE, WEIGHT, measure_spectrum
from support.paid import encoder as bundled


@pytest.mark.parametrize(
    ("name", "width"), [(BUNDLED, EMBEDDING_SIZE), (SPECTRAL, EMBEDDING_SIZE + len(EDGES) - 1)]
)
def test_a_bundled_encoder_brings_the_frame_that_plans_name_of_the_weights_that_are_installed(name, width):
    with safe_open(BUNDLED_FRAMES[name], "numpy") as file:
        assert file.metadata() == {"weights": bundled_digest()}
    frame, axes = load_encoder(name).frame, 32
    assert (frame.digest, named_weights(name, None)) == (frame_digest(name, None), bundled_digest())
    assert (frame.centre.shape, frame.axes.shape) == ((width,), (width, axes))
    assert (frame.variances.shape, frame.radii.shape) == ((axes,), (axes,))
    assert np.abs(frame.axes.T @ frame.axes - np.eye(axes)).max() < 0.01
    assert BUNDLED_FRAMES[name].stat().st_size < 100_000
    assert load_encoder(name, str(BUNDLED_WEIGHTS)).frame is None, "weights of its owner bring none"


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
    found = measure_spectrum(wave(EDGES[band], across))
    assert found.argmax() == band
    assert np.sort(found)[-2] < found.max() - 5


def test_the_embedding_is_the_bundled_one_and_the_spectrum(both):
    images = [wave(3), None, wave(9)]
    rows = both.embed(images)
    assert rows.shape == (3, both.dimension)
    assert np.array_equal(rows[[0, 2], :256], bundled().embed([images[0], images[2]]))
    assert np.array_equal(rows[2, 256:], WEIGHT * measure_spectrum(images[2]))
    assert np.isnan(rows[1]).all()


def test_an_image_has_the_same_bits_among_others(both):
    images = [wave(each) for each in (1, 5, 20)]
    assert np.array_equal(both.embed(images)[1], both.embed([images[1]])[0])


def test_in_its_frame_a_quarter_or_so_is_the_spectrums(both):
    by_axis = np.square(both.frame.axes[256:, :16]).sum(axis=0)
    share = (by_axis * both.frame.variances[:16]).sum() / both.frame.variances[:16].sum()
    assert 0.2 < share < 0.35
