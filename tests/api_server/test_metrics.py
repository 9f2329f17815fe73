"""What is counted."""

from __future__ import annotations

from pcevolve_shared import wire

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
