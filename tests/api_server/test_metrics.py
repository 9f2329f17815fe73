"""What is counted."""

from __future__ import annotations

import sys
import types

from pcevolve_server.metrics import Metrics
from pcevolve_shared import wire


def fake_torch(initialised):
    cuda = types.SimpleNamespace(
        is_initialized=lambda: initialised, device_count=lambda: 2, memory_allocated=lambda device: 7 + device
    )
    return types.SimpleNamespace(cuda=cuda)


def test_each_gpu_in_use_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch(initialised=True))
    text = Metrics().text().decode()
    assert [f'pcevolve_device_memory_bytes{{device="{n}"}} {n + 7}.0' in text for n in (0, 1)] == [True, True]


ASK = {"model": "fake", "prompt": "a cat", "seed": 7}


def test_metrics_count_by_route_and_never_by_a_callers_text(client):
    client.post(wire.TEXT_TO_IMAGE, json=ASK | {"n": 2})
    client.get("/SECRET")
    text = client.get(wire.METRICS).text
    assert f'pcevolve_requests_total{{route="{wire.TEXT_TO_IMAGE}",status="200"}} 1.0' in text
    assert "pcevolve_images_total 2.0" in text
    assert 'pcevolve_stage_seconds_count{stage="wait"} 1.0' in text
    assert 'pcevolve_stage_seconds_count{stage="write"} 1.0' in text
    assert "process_resident_memory_bytes" in text
    assert "SECRET" not in text
