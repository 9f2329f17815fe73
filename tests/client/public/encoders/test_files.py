"""Files that an encoder is made from are data and nothing else."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save

from pcevolve.errors import ModelError
from pcevolve.public.encoders.files import PublicFrame, fit, read_arrays, read_state

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
    with pytest.raises(ModelError, match="is not a public frame"):
        PublicFrame.read(write(tmp_path, **changes), 6)


@pytest.mark.parametrize("reading", [read_state, read_arrays])
def test_weights_that_hold_code_are_refused_unrun(tmp_path: Path, reading):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was run",))

    torch.save({"fc.weight": Bomb()}, tmp_path / "x.pt")
    with pytest.raises(ModelError, match=r"x\.pt: not a safetensors file or a torch state dict"):
        reading(tmp_path / "x.pt")


@pytest.mark.parametrize("name", ["x.pt", "x.safetensors"])
@pytest.mark.parametrize("content", [b"", b"no weights", b"PK\x03\x04 nor a zip"])
def test_damaged_weights_are_one_clear_line(tmp_path: Path, name: str, content: bytes):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=r"encoder weights .*x\.\w+: not a safetensors file") as caught:
        read_state(tmp_path / name)
    assert "\n" not in str(caught.value)
    with pytest.raises(ModelError, match=r"encoder weights .*none.*: No such file"):
        read_state(tmp_path / "none.pt")


def test_a_state_dict_is_tensors_by_name_and_nothing_else(tmp_path: Path):
    torch.save({"a": [1]}, tmp_path / "list.pt")
    with pytest.raises(ModelError, match="not a state dict of tensors"):
        read_state(tmp_path / "list.pt")


def test_safetensors_are_read_by_suffix_as_torch_s_own_files_are(tmp_path: Path):
    (tmp_path / "x.safetensors").write_bytes(save({"a": np.ones(2, dtype=np.float32)}))
    torch.save({"a": torch.ones(2)}, tmp_path / "x.pt")
    for name in ("x.safetensors", "x.pt"):
        assert read_state(tmp_path / name)["a"].equal(torch.ones(2))
        assert read_arrays(tmp_path / name)["a"].tolist() == [1, 1]


def test_a_network_takes_weights_of_exactly_its_names_and_shapes():
    network = torch.nn.Linear(2, 1)
    good = {"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([3.0])}
    fit(network, good | {"head.weight": torch.ones(1)}, "x.pt", unused=("head.",))
    assert network(torch.ones(1, 2)).item() == 6
    for bad in (good | {"more": torch.ones(1)}, {"weight": good["weight"]}, good | {"bias": torch.ones(2)}):
        with pytest.raises(ModelError, match=r"weights x\.pt: 1 tensors do not fit, such as '(more|bias)'"):
            fit(network, bad, "x.pt")
