"""Memory on GPUs is told where PyTorch uses one, and asking does not make it begin to."""

from __future__ import annotations

import sys
import types

from pcevolve_server.metrics import Metrics


def torch(initialised):
    cuda = types.SimpleNamespace(
        is_initialized=lambda: initialised, device_count=lambda: 2, memory_allocated=lambda device: 7 + device
    )
    return types.SimpleNamespace(cuda=cuda)


def test_each_gpu_in_use_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch(initialised=True))
    text = Metrics().text().decode()
    assert [f'pcevolve_device_memory_bytes{{device="{n}"}} {n + 7}.0' in text for n in (0, 1)] == [True, True]
