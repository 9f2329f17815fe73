"""Who is let in: keys, names of this machine, pages of others; and no body is read of whoever is not."""

from __future__ import annotations

import pytest

from pcevolve_server.settings import Key
from pcevolve_shared import wire
from support.served import read_refusal

KEY = "correct-horse-battery-staple"
ASK = {"model": "fake", "prompt": "a cat", "seed": 7}
GENERATING = [wire.TEXT_TO_IMAGE, wire.IMAGE_TO_IMAGE, wire.IP_ADAPTER]


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example", "localhost.attacker.example", "127.0.0.1.attacker.example:80", "192.168.0.7",
        "[fe80::1]:80", "x@localhost", "",
    ],
)  # fmt: skip
def test_without_keys_another_machines_name_is_refused(serve, fake, host):
    with serve(fake, allowed_hosts=("gpu.lab",)) as client:
        for path in (wire.MODELS, wire.HEALTH):
            read_refusal(client.get(path, headers={"Host": host}), 421, "host_not_allowed")


FOREIGN = [
    {"Origin": "https://attacker.example"},
    {"Host": "gpu.lab", "Origin": "http://other.lab"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:8000"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_without_keys_a_page_of_another_origin_has_nothing_made_and_may_read_nothing(serve, fake, headers):
    asks = [("POST", path) for path in (*GENERATING, wire.OPENAI_GENERATIONS, wire.OPENAI_EDITS, wire.CHAT)]
    asks += [("OPTIONS", wire.TEXT_TO_IMAGE), ("GET", wire.TEXT_TO_IMAGE)]
    asks += [("GET", path) for path in (wire.METRICS, wire.HEALTH, wire.MODELS)]
    with serve(fake, allowed_hosts=("gpu.lab",)) as client:
        for method, path in asks:
            body = b'{"prompt": "a"}' if method == "POST" else None
            answer = client.request(method, path, content=body, headers={"Host": "localhost:8000"} | headers)
            assert "API key" in read_refusal(answer, 403, "origin_not_allowed")
            assert not [name for name in answer.headers if name.startswith("access-control")]
    assert fake.batches == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "LOCALHOST:1"},
        {"Host": "127.5.5.5:8000"},
        {"Host": "[::1]:9"},
        {"Host": "GPU.lab.:8000"},
        {"Host": "gpu.lab", "Origin": "https://gpu.lab", "Sec-Fetch-Site": "same-origin"},
        {"Host": "LocalHost:8000", "Origin": "http://localhost:8000"},
        {"Host": "[::1]:8000", "Origin": "http://[::1]:8000"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_without_keys_this_machine_and_its_allowed_names_are_served(serve, fake, headers):
    with serve(fake, allowed_hosts=("GPU.lab",)) as client:
        assert client.get("/docs", headers=headers).status_code == 200
        assert client.post(wire.TEXT_TO_IMAGE, json=ASK, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "key", [None, "Bearer wrong", "Bearer ", KEY, f"Basic {KEY}", f"Bearer {KEY}x", "Bearer \xff"]
)
def test_without_the_key_nothing_is_answered(serve, fake, key):
    headers = {} if key is None else {"Authorization": key.encode("latin-1")}
    with serve(fake, keys=(Key(KEY),)) as client:
        for path in (wire.MODELS, wire.BALANCE, wire.METRICS, "/nowhere"):
            assert "Bearer KEY" in read_refusal(client.get(path, headers=headers), 401, "invalid_api_key")
        for path in [*GENERATING, wire.OPENAI_GENERATIONS, wire.OPENAI_EDITS, wire.CHAT]:
            refused = client.post(path, json=ASK, headers=headers)
            read_refusal(refused, 401, "invalid_api_key")
            assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert fake.batches == []


def test_with_the_key_everything_is_answered_and_health_needs_none(serve, fake):
    with serve(fake, keys=(Key(KEY),)) as client:
        assert client.get(wire.HEALTH).json() == {"status": "ok"}
        assert client.get("/docs").status_code == 200
        headers = {"Authorization": f"bearer {KEY}"}
        assert client.post(wire.TEXT_TO_IMAGE, json=ASK, headers=headers).status_code == 200


def unread():
    """A body that nobody should read: the test transport reads lazily, so doing so raises."""
    yield b"{"
    raise AssertionError("the body was read")


def test_the_key_is_asked_for_before_the_body_is_read(serve, fake):
    with serve(fake, keys=(Key(KEY),)) as client:
        read_refusal(client.post(wire.TEXT_TO_IMAGE, content=unread()), 401, "invalid_api_key")


def test_a_body_to_an_unknown_route_is_not_read(client):
    response = client.post("/v1/nope", content=unread())
    read_refusal(response, 404, "not_found")
    assert response.headers["Connection"] == "close"


def test_an_answer_to_a_request_that_was_read_keeps_the_connection(client):
    for response in (client.post(wire.TEXT_TO_IMAGE, json=ASK), client.get(wire.MODELS)):
        assert response.status_code == 200
        assert "Connection" not in response.headers


def test_a_request_leaves_one_line_with_what_it_weighed(client, caplog):
    caplog.set_level("INFO")
    body = b'{"prompt": "a", "seed": 7}'
    answer = client.post(wire.TEXT_TO_IMAGE, content=body, headers={"Content-Type": "application/json"})
    (line,) = [vars(each) for each in caplog.records if each.getMessage() == "request"]
    told = {name: line[name] for name in ("method", "route", "status", "bytes_in", "bytes_out")}
    weights = {"bytes_in": 26, "bytes_out": len(answer.content)}
    assert told == {"method": "POST", "route": wire.TEXT_TO_IMAGE, "status": 200} | weights
    assert line["request_id"] == answer.headers["X-Request-Id"]
