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
