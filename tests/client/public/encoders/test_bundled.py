"""The bundled encoder: its weights, its frame, a spectrum beside it, and one thread for each worker."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open
from safetensors.numpy import load_file

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
from pcevolve.public.encoders.bundled import EDGES, EMBEDDING_SIZE, SIDE, WEIGHT, embed, measure_spectrum
from pcevolve.public.encoders.singly import keep_undivided
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


def embed_plainly(state, image):
    """The network by NumPy's own means and variances, and convolutions by one copy per kernel position."""

    def convolve(name, x, stride=1):
        weight = state[f"{name}.weight"]
        outputs, inputs, side, _ = weight.shape
        made, width = x.shape[2] // stride, x.shape[2]
        padded = np.pad(x, ((0, 0), (side // 2, side // 2), (side // 2, side // 2)))
        columns = np.empty((inputs, side, side, made, made), dtype=np.float32)
        for down in range(side):
            for across in range(side):
                columns[:, down, across] = padded[
                    :, down : down + width : stride, across : across + width : stride
                ]
        found = weight.reshape(outputs, -1) @ columns.reshape(weight[0].size, -1)
        return (found + state[f"{name}.bias"][:, None]).reshape(outputs, made, made)

    def normalise(name, x):
        rows = x.reshape(8, -1)
        rows = rows - rows.mean(axis=1, keepdims=True)
        rows = rows / np.sqrt(np.square(rows).mean(axis=1, keepdims=True) + np.float32(1e-5))
        scaled = rows.reshape(x.shape) * state[f"{name}.weight"][:, None, None]
        return scaled + state[f"{name}.bias"][:, None, None]

    def silu(x):
        return x / (np.exp(-x) + 1)

    def spread(x):
        return np.sqrt(x.var(axis=(1, 2)) + np.float32(1e-4))

    def pool(x, cells):
        side = x.shape[1] // cells
        return x.reshape(len(x), cells, side, cells, side).mean(axis=(2, 4)).ravel()

    pixels = image * 2 - 1
    x, described = silu(convolve("stem", pixels, 2)), []
    for stage in ("stages.0", "stages.1", "stages.2"):
        x = silu(normalise(f"{stage}.norms.0", convolve(f"{stage}.down", x, 2)))
        y = silu(normalise(f"{stage}.norms.1", convolve(f"{stage}.first", x)))
        x = silu(x + normalise(f"{stage}.norms.2", convolve(f"{stage}.second", y)))
        described += [x.mean(axis=(1, 2)), spread(x)]
    parts = [x.max(axis=(1, 2)), pool(x, 2), pool(pixels, 8), spread(pixels), *described]
    return state["project.weight"] @ np.concatenate(parts) + state["project.bias"]


def test_short_cuts_change_no_bit_of_an_embedding():
    state, random = load_file(BUNDLED_WEIGHTS), np.random.default_rng(5)
    flat = np.full((3, SIDE, SIDE), 0.25, dtype=np.float32)
    with keep_undivided():
        for image in (flat, *random.random((5, 3, SIDE, SIDE), dtype=np.float32)):
            assert embed(state, image).tobytes() == embed_plainly(state, image).tobytes()


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
