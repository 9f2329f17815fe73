"""Memory on GPUs is told where PyTorch uses one, and asking does not make it begin to."""

import sys
import types

import pytest

from pcevolve_server.metrics import Metrics
from pcevolve_server.work import Picture


def torch(initialised):
    cuda = types.SimpleNamespace(
        is_initialized=lambda: initialised, device_count=lambda: 2, memory_allocated=lambda device: 7 + device
    )
    return types.SimpleNamespace(cuda=cuda)


@pytest.mark.parametrize("found", [None, torch(initialised=False)])
def test_without_a_gpu_in_use_there_is_no_such_metric(monkeypatch, found):
    monkeypatch.setitem(sys.modules, "torch", found)
    assert b"device_memory" not in Metrics().text()


def test_each_gpu_in_use_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch(initialised=True))
    text = Metrics().text().decode()
    assert [f'pcevolve_device_memory_bytes{{device="{n}"}} {n + 7}.0' in text for n in (0, 1)] == [True, True]


def test_pictures_are_equal_whatever_they_took():
    assert Picture(None, seconds={"decode": 1.0}) == Picture(None)
