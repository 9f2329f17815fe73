"""What routes answer that make nothing."""

from __future__ import annotations

import pytest

from pcevolve_shared import wire
from support.served import read_refusal


def unread():
    """A body that nobody should read: the test transport reads lazily, so doing so raises."""
    yield b"{"
    raise AssertionError("the body was read")


def test_what_is_exact_is_in_the_metrics_and_among_the_models(serve, fake):
    fake.info = fake.info.model_copy(update={"exact": "alone"})
    with serve(fake) as client:
        assert 'pcevolve_exact{exact="alone",model="maker/fake"} 1.0' in client.get(wire.METRICS).text
        assert client.get(wire.MODELS).json()["data"][0]["exact"] == "alone"


OPEN = [wire.HEALTH, wire.READY, "/docs", "/docs/swagger-ui.css", "/openapi.json"]


@pytest.mark.parametrize("path", [*OPEN, wire.MODELS, wire.BALANCE, wire.METRICS])
def test_a_route_that_takes_no_body_refuses_one_without_reading_it(client, path):
    response = client.request("GET", path, content=unread())
    assert "takes no request body" in read_refusal(response, 413, "request_too_large")
    assert response.headers["Connection"] == "close"


GENERATING = [401, 404, 408, 413, 422, 429, 500, 503]
DOCUMENTED = {
    wire.TEXT_TO_IMAGE: GENERATING,
    wire.IMAGE_TO_IMAGE: GENERATING,
    wire.IP_ADAPTER: GENERATING,
    wire.OPENAI_GENERATIONS: GENERATING,
    wire.OPENAI_EDITS: GENERATING,
    wire.CHAT: GENERATING,
    wire.MODELS: [401, 503],
    wire.MODELS + "/{model}": [401, 404, 422, 503],
    wire.BALANCE: [401],
    wire.HEALTH: [],
    wire.READY: [503],
    wire.METRICS: [401],
}
"""Statuses beside 200 of what a caller is told."""


def test_every_route_tells_in_its_schema_what_else_it_may_answer(client):
    paths = client.get("/openapi.json").json()["paths"]
    told = {
        path: sorted(map(int, *[each["responses"] for each in ways.values()])) for path, ways in paths.items()
    }
    assert told == {path: [200, *statuses] for path, statuses in DOCUMENTED.items()}
    edit = paths[wire.OPENAI_EDITS]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert edit["required"] == ["image", "prompt"]
    assert edit["properties"]["image"] == {"type": "string", "format": "binary"}
