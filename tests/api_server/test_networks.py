"""Devices, precision and memory of networks."""

from __future__ import annotations

import os

import pytest
import torch
import torch.utils.deterministic
from torch.nn import functional

from pcevolve_server import networks
from pcevolve_server.diffusion import generator as diffusion
from pcevolve_server.errors import AbandonedError, ModelLoadError
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
        ({"weights": WeightFormat.INT8}, "--weights int8 needs CUDA, and the device is cpu"),
        (
            {"compiled": True, "batching": Batching.MERGE},
            "--compile works only on CUDA, and for small models",
        ),
    ],
)
def test_what_the_device_cannot_do_is_refused_before_anything_is_loaded(asked, complaint, tmp_path):
    with pytest.raises(ModelLoadError, match=complaint):
        load(model=str(tmp_path / "nowhere"), device="cpu", **asked)


@pytest.fixture
def usual():
    """PyTorch's settings, put back afterwards."""
    cudnn, memory = torch.backends.cudnn, torch.utils.deterministic
    before = cudnn.benchmark, cudnn.deterministic, memory.fill_uninitialized_memory
    yield
    cudnn.benchmark, cudnn.deterministic, memory.fill_uninitialized_memory = before
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("usual")
def test_a_gpus_libraries_are_asked_for_kernels_that_compute_alike_and_a_processors_are_not(monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "put back")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = True, False
    for device, alike in (("cpu", False), ("cuda", True)):
        networks.compute_alike(torch.device(device))
        assert os.environ.get("CUBLAS_WORKSPACE_CONFIG") == (":4096:8" if alike else None)
        assert torch.backends.cudnn.benchmark is not alike
        assert torch.backends.cudnn.deterministic is alike
        assert torch.are_deterministic_algorithms_enabled() is alike
        assert torch.is_deterministic_algorithms_warn_only_enabled() is alike
    assert not torch.utils.deterministic.fill_uninitialized_memory


def test_kernels_that_compute_alike_are_asked_for_where_exact_is(tiny_model, monkeypatch):
    asked = []
    monkeypatch.setattr(networks, "compute_alike", lambda device: asked.append(device.type))
    for batching in (Batching.MERGE, Batching.EXACT):
        load(model=str(tiny_model), device="cpu", threads=1, batching=batching)
    assert asked == ["cpu"]


class Attending(torch.nn.Module):
    """One attention of a block."""

    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Identity())])

    def forward(self, query, key, **more):
        return functional.scaled_dot_product_attention(self.blocks[0](query), key, value=key, **more)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("more", [{}, {"is_causal": True}, {"attn_mask": torch.ones(1, 5000).bool()}])
def test_a_long_attention_asks_between_its_pieces_and_has_the_same_bits(dtype, more):
    network, asked = Attending(), []
    interrupter = networks.Interrupter([network])
    query, key = (torch.randn(1, 2, 5000, 8, dtype=dtype) for _ in range(2))
    with interrupter.listening(lambda: bool(asked.append(1))):
        whole = network(query, key, **more)
    assert len(asked) == 1  # before its block
    with interrupter.listening(lambda: bool(asked.append(1)), slow=True):
        pieces = network(query, key, **more)
    assert torch.equal(pieces, whole)
    assert len(asked) == (2 if more else 5)


def test_a_long_attention_is_ended_between_its_pieces():
    network, asked = Attending(), []
    query = torch.randn(1, 2, 5000, 8)

    def is_cancelled():
        asked.append(1)
        return len(asked) == 3

    listening = networks.Interrupter([network]).listening(is_cancelled, slow=True)
    with pytest.raises(AbandonedError), listening:
        network(query, query)
    assert len(asked) == 3


def test_a_large_image_asks_within_its_attention(tiny_model, monkeypatch):
    generator, asked, drawn = load(model=str(tiny_model), device="cpu", threads=1), [], []
    for slow in (10**9, 10**9, 0):  # the first run proves which batches agree
        monkeypatch.setattr(diffusion, "_SLOW_PIXELS", slow)
        asked.append(0)

        def is_cancelled():
            asked[-1] += 1
            return False

        drawn.append(pixels(generator.create(tasks(Recipe(32, 32, steps=2), 1), is_cancelled)))
    assert asked[2] > asked[1]
    assert (drawn[1] == drawn[2]).all()


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
