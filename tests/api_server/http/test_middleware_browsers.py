"""Requests of somebody else's page are told from those of programs and of the listener's own."""

from __future__ import annotations

import pytest

from pcevolve_server.http.middleware import is_foreign

HOST = "localhost:8000"


@pytest.mark.parametrize(
    ("origin", "site"),
    [
        ("https://attacker.example", None),
        ("http://localhost:3000", None),
        ("http://127.0.0.1:8000", None),  # the same machine by another name
        ("http://localhost", None),
        ("http://localhost:8000.attacker.example", None),
        ("null", None),
        ("", None),
        ("file://", None),
        ("chrome-extension://localhost:8000", None),
        (None, "cross-site"),
        (None, "same-site"),
        (None, "Cross-Site "),
        (None, ""),
        ("https://attacker.example", "same-origin"),
        ("http://localhost:8000", "cross-site"),
    ],
)
def test_a_page_of_another_origin_is_foreign(origin, site):
    assert is_foreign(HOST, origin, site)
    assert is_foreign(None, origin or "http://localhost:8000", site)


@pytest.mark.parametrize(
    ("host", "origin", "site"),
    [
        (HOST, None, None),
        (None, None, None),
        (HOST, None, " None"),
        (" LocalHost:8000", "http://localhost:8000", "same-origin"),
        (HOST, " HTTPS://localhost:8000", None),
        ("[::1]:8000", "http://[::1]:8000", None),
    ],
)
def test_a_program_a_person_and_the_listener_s_own_page_are_not(host, origin, site):
    assert not is_foreign(host, origin, site)
