"""A request and an answer in full, and how long they are on the wire."""

from __future__ import annotations

import pytest

from pcevolve.wire.egress.transport import Incoming, Outgoing


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://api.example", "/"),
        ("https://api.example/v1/a%20b?c=d&e", "/v1/a%20b?c=d&e"),
        ("https://api.example?c", "/?c"),
    ],
)
def test_a_target_is_path_and_query_character_by_character(url: str, target: str):
    assert Outgoing("GET", url, (), b"").target == target


def test_bytes_on_the_wire_are_those_of_http_1_1():
    sent = Outgoing("POST", "https://api.example/v1", (("Host", "api.example"), ("A", "b")), b"body")
    assert sent.wire_bytes == len(b"POST /v1 HTTP/1.1\r\nHost: api.example\r\nA: b\r\n\r\nbody")
    answer = Incoming(429, (("Retry-After", "5"),), b"later")
    assert answer.wire_bytes == len(b"HTTP/1.1 429 \r\nRetry-After: 5\r\n\r\nlater")


def test_headers_are_recorded_without_the_key():
    sent = Outgoing("GET", "https://api.example", (("Authorization", "Bearer key"), ("A", "b")), b"")
    (name, hidden), other = sent.recorded_headers()
    assert (name, other) == ("Authorization", ("A", "b"))
    assert "key" not in hidden


def test_a_header_is_found_in_any_case_and_the_first_counts():
    answer = Incoming(200, (("retry-after", "5"), ("Retry-After", "6")), b"secret")
    assert (answer.header("Retry-After"), answer.header("Age")) == ("5", None)
    assert "secret" not in repr(answer)
