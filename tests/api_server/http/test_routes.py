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
