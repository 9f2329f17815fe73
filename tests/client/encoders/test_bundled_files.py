"""The files that ship with the bundled encoder: small, in half precision, and of one another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from pcevolve.encoders import BUNDLED_WEIGHTS, bundled_digest
from pcevolve.encoders.bundled import EMBEDDING_SIZE, load_bundled
from pcevolve.geometry.coarse import is_coarse
from pcevolve.geometry.frame import STEP

FRAME = BUNDLED_WEIGHTS.with_name("bundled_frame.safetensors")
MOST_BYTES = 6_000_000


@pytest.fixture(scope="module")
def frame() -> dict[str, np.ndarray]:
    with safe_open(FRAME, "numpy") as file:
        return {name: file.get_tensor(name).astype(np.float64) for name in file.keys()}  # noqa: SIM118


def test_weights_are_small_and_in_half_precision():
    assert BUNDLED_WEIGHTS.stat().st_size < MOST_BYTES
    assert {value.dtype for value in load_file(BUNDLED_WEIGHTS).values()} == {torch.float16}


def test_their_card_lies_beside_them_and_names_the_licences_that_ask_for_it():
    card = BUNDLED_WEIGHTS.with_name("MODEL_CARD.md").read_text()
    assert all(name in card for name in ("Kermany", "flower_photos", "CC BY 4.0", "What it never saw"))


def test_the_network_has_no_layer_by_which_images_of_a_batch_meet():
    assert not [
        each for each in load_bundled().modules() if isinstance(each, torch.nn.modules.batchnorm._BatchNorm)
    ]


def test_the_frame_is_of_the_weights_that_are_installed():
    with safe_open(FRAME, "numpy") as file:
        assert file.metadata() == {"weights": bundled_digest()}


def test_the_frame_has_a_centre_and_orthonormal_axes_but_for_rounding(frame):
    assert {name: value.shape for name, value in frame.items()} == {
        "centre": (EMBEDDING_SIZE,),
        "axes": (EMBEDDING_SIZE, 32),
        "variances": (32,),
        "radii": (32,),
    }
    assert np.abs(frame["axes"].T @ frame["axes"] - np.eye(32)).max() < 0.01


def test_variances_fall_and_radii_grow_from_axis_to_axis(frame):
    assert (np.diff(frame["variances"]) < 0.02 * frame["variances"][1:]).all()
    assert (np.diff(frame["radii"]) >= 0).all()
    assert frame["variances"].min() > 0 < frame["radii"].min()


def test_axes_are_rounded_as_those_of_candidates(frame):
    assert is_coarse(frame["axes"], STEP)


def test_the_file_is_small():
    assert Path(FRAME).stat().st_size < 50_000
