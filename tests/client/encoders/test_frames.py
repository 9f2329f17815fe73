"""Public frames: what is read from a file, and what is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from pcevolve.encoders import BUNDLED, BUNDLED_FRAMES, frame_digest
from pcevolve.encoders.frames import PublicFrame
from pcevolve.errors import ModelError
from support.paid import encoder

GOOD = {
    "centre": np.ones(6, dtype=np.float32),
    "axes": np.eye(6, 3, dtype=np.float32),
    "variances": np.array([3, 2, 1], dtype=np.float32),
    "radii": np.array([1, 2, 3], dtype=np.float32),
}


def written(folder: Path, **changes: np.ndarray | None) -> Path:
    arrays = {name: array for name, array in {**GOOD, **changes}.items() if array is not None}
    path = folder / "frame.safetensors"
    path.write_bytes(save(arrays))
    return path


def test_a_frame_is_read_with_the_digest_of_its_file(tmp_path: Path):
    path = written(tmp_path)
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
        PublicFrame.read(written(tmp_path, **changes), 6)


def test_a_file_that_is_damaged_or_not_there_is_refused(tmp_path: Path):
    (tmp_path / "frame.safetensors").write_bytes(b"frame")
    for name in ("frame.safetensors", "missing.safetensors"):
        with pytest.raises(ModelError, match="cannot be read"):
            PublicFrame.read(tmp_path / name, 6)


def test_the_bundled_encoder_brings_the_frame_that_plans_name():
    frame = encoder().frame
    assert frame is not None
    assert frame.digest == frame_digest("bundled", None)
    assert np.abs(frame.axes.T @ frame.axes - np.eye(frame.axes.shape[1])).max() < 0.01
    assert BUNDLED_FRAMES[BUNDLED].stat().st_size < 100_000


def test_no_other_weights_bring_it():
    assert frame_digest("bundled", "weights.safetensors") is None
    assert frame_digest("resnet18", None) is None
