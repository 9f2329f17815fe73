"""The HTTP surface on a fake model: shapes, limits, refusals."""

from pcevolve_shared import limits, wire
from support.served import read_refusal


def test_a_body_too_long_is_refused_by_its_declared_length(client, fake):
    headers = {"Content-Length": str(limits.MAX_REQUEST_BYTES + 1)}
    response = client.post(wire.TEXT_TO_IMAGE, content=b"{}", headers=headers)
    assert "longer than" in read_refusal(response, 413, "request_too_large")


def test_a_body_too_long_is_refused_while_it_streams(client):
    chunks = (b" " * 2**20 for _ in range(limits.MAX_REQUEST_BYTES // 2**20 + 2))
    read_refusal(client.post(wire.TEXT_TO_IMAGE, content=chunks), 413, "request_too_large")


def test_a_wrong_field_is_named_from_the_body_on_and_eight_at_most(client):
    one = read_refusal(
        client.post(wire.TEXT_TO_IMAGE, json={"prompt": "a", "steps": 0}), 422, "invalid_request"
    )
    assert one.startswith("steps: Input should be greater")
    many = {"prompt": "a"} | {f"odd{number}": 1 for number in range(10)}
    said = read_refusal(client.post(wire.TEXT_TO_IMAGE, json=many), 422, "invalid_request")
    assert said.count("Extra inputs") == 8
    assert said.endswith("; and 2 more")
    named = {"prompt": "a", "x" * 100: 1}
    said = read_refusal(client.post(wire.TEXT_TO_IMAGE, json=named), 422, "invalid_request")
    assert said.partition(":")[0] == "x" * 64
    assert "body: " in read_refusal(client.post(wire.TEXT_TO_IMAGE, json=1), 422, "invalid_request")


def test_the_page_about_the_routes_is_served(client):
    assert "swagger-ui-bundle.js" in client.get("/docs").text
