"""The bundled encoder: its weights, its frame, a spectrum beside it, and one thread for each worker."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors import safe_open
from safetensors.numpy import save
from threadpoolctl import threadpool_info

from pcevolve.encoders import (
    BUNDLED,
    BUNDLED_FRAMES,
    BUNDLED_WEIGHTS,
    SPECTRAL,
    bundled_digest,
    frame_digest,
    load_encoder,
    named_weights,
)
from pcevolve.encoders.bundled import EDGES, EMBEDDING_SIZE, SIDE, WEIGHT, measure_spectrum
from pcevolve.encoders.files import PublicFrame
from pcevolve.encoders.singly import lone_workers
from pcevolve.errors import ModelError
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


GOOD = {
    "centre": np.ones(6, dtype=np.float32),
    "axes": np.eye(6, 3, dtype=np.float32),
    "variances": np.array([3, 2, 1], dtype=np.float32),
    "radii": np.array([1, 2, 3], dtype=np.float32),
}


def write(folder: Path, **changes: np.ndarray | None) -> Path:
    arrays = {name: array for name, array in {**GOOD, **changes}.items() if array is not None}
    path = folder / "frame.safetensors"
    path.write_bytes(save(arrays))
    return path


def test_a_frame_is_read_with_the_digest_of_its_file(tmp_path: Path):
    path = write(tmp_path)
    frame = PublicFrame.read(path, 6)
    assert frame.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert frame.axes.dtype == np.float64
    assert frame.radii.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "changes",
    [
        {"centre": np.ones(5, dtype=np.float32)},
        {"axes": np.eye(5, 3, dtype=np.float32)},
        {"axes": np.ones(6, dtype=np.float32)},
        {"axes": np.eye(6, 3, dtype=np.float32) + np.float32(0.1)},
        {"variances": np.ones(4, dtype=np.float32)},
        {"variances": np.array([1, 0, 1], dtype=np.float32)},
        {"radii": np.array([1, np.inf, 1], dtype=np.float32)},
        {"radii": None},
        {"note": np.zeros(3)},
    ],
)
def test_anything_else_is_refused(tmp_path: Path, changes: dict[str, np.ndarray | None]):
    with pytest.raises(ModelError, match="is no public frame"):
        PublicFrame.read(write(tmp_path, **changes), 6)


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


PRODUCTS = np.ones((2, 2)) @ np.ones((2, 2))  # NumPy has loaded its library of linear algebra


def threads_of_products() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_neither_torch_nor_numpy_divides_the_work_of_a_lone_worker():
    threads, divided = torch.get_num_threads(), threads_of_products()
    with lone_workers(threads) as pool:
        assert pool.submit(threads_of_products).result() == {1}
        assert pool.submit(torch.get_num_threads).result() == 1
    assert (torch.get_num_threads(), threads_of_products()) == (threads, divided)
