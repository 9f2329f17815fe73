"""Devices, precision and memory of networks."""

from __future__ import annotations

import pytest

from pcevolve_server import networks
from pcevolve_server.errors import ModelLoadError
from pcevolve_server.model_settings import (
    Attention,
    Batching,
    WeightFormat,
)
from pcevolve_server.work import Recipe
from support.drawing import apart, pixels, tasks
from support.tiny_model import load

pytestmark = pytest.mark.models


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"weights": WeightFormat.INT8}, "--weights int8 is for CUDA, and the device is cpu"),
        ({"compiled": True, "batching": Batching.MERGE}, "--compile is for CUDA, and for small models"),
    ],
)
def test_what_the_device_cannot_do_is_refused_before_anything_is_loaded(asked, complaint, tmp_path):
    with pytest.raises(ModelLoadError, match=complaint):
        load(model=str(tmp_path / "nowhere"), device="cpu", **asked)


def test_attention_is_computed_by_the_kernels_that_were_chosen(tiny_model, monkeypatch):
    chosen = []
    real = networks.sdpa_kernel
    monkeypatch.setattr(
        networks, "sdpa_kernel", lambda names, **more: chosen.append(names) or real(names, **more)
    )
    drawn = []
    for attention in (Attention.AUTO, Attention.MATH, Attention.FLASH):
        generator = load(model=str(tiny_model), device="cpu", threads=1, attention=attention)
        drawn.append(pixels(generator.create(tasks(Recipe(32, 32, steps=2, guidance=3.0), 1))))
    assert [[name.name for name in names] for names in chosen] == [
        ["MATH", "MATH"],
        ["FLASH_ATTENTION", "MATH"],
    ]
    assert max(apart(drawn[0], each) for each in drawn) < 1
