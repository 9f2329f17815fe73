"""Where requests go, by which way, with which key: what is refused before anything is sent, and how paths join."""

from __future__ import annotations

import pytest

from pcevolve.errors import UsageError
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.transport import Incoming
from pcevolve.wire.providers.dialect import WireRequest


@pytest.mark.parametrize(
    "url",
    [
        *(
            "ftp://x",
            "127.0.0.1:8000",
            "http://user:pw@host",
            "http://host/?q=1",
            "http://host/#f",
            "http://",
        ),
        *("http://[::1", "http://host:abc", "http://host:99999", "http://host:0", "https://https://host"),
    ],
)
def test_an_address_that_could_carry_more_than_a_place_is_refused(url):
    with pytest.raises(UsageError, match="--api"):
        Address(url)


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://host", "/v1/models", "https://host/v1/models"),
        ("https://host/v1/", "/v1/models", "https://host/v1/models"),
        ("https://host/api/paas/v4", "/v1/chat/completions", "https://host/api/paas/v4/chat/completions"),
        (
            "https://host/v1beta/openai/",
            "/v1/chat/completions",
            "https://host/v1beta/openai/chat/completions",
        ),
        ("https://host/v1/openai", "/v1/images/edits", "https://host/v1/openai/images/edits"),
        ("https://host/openai/v1", "/v1/models", "https://host/openai/v1/models"),
        ("https://host/v2beta", "/v2beta/stable-image", "https://host/v2beta/stable-image"),
        ("https://host/openai", "/v1/models", "https://host/openai/v1/models"),
        ("https://v1", "/v1/models", "https://v1/v1/models"),
        ("http://host/v1", "/sdapi/v1/txt2img", "http://host/v1/sdapi/v1/txt2img"),
    ],
)
def test_a_version_at_the_end_of_the_address_stands_there_once(base, path, url):
    assert Address(base).outgoing(WireRequest("GET", path)).url == url


PLAIN = "sk/abc+def/0123456789"


@pytest.mark.parametrize(
    "said",
    [
        PLAIN,
        PLAIN.replace("/", "\\/"),  # PHP
        PLAIN.replace("+", "\\u002B"),  # .NET
        "".join(f"\\u{ord(each):04x}" for each in PLAIN),
    ],
)
def test_a_key_that_an_answer_repeats_is_found_however_json_spells_it(said: str):
    for key, scheme in ((PLAIN, "Bearer"), (f"user:{PLAIN}", "Basic")):
        address = Address("http://host", key, scheme)
        assert address.is_revealed_by(Incoming(401, (), f'{{"error": "user:{said} is wrong"}}'.encode()))
        assert not address.is_revealed_by(Incoming(401, (), f'{{"error": "{said[:-1]}\\n"}}'.encode()))


@pytest.mark.parametrize(
    ("url", "key", "warns"),
    [
        ("http://gpu.lab:8000", "k" * 16, True),
        ("http://10.0.0.7/v1", "k" * 16, True),
        ("http://127.0.0.1.example.org", "k" * 16, True),
        ("http://[fe80::1]:8000", "k" * 16, True),
        ("http://gpu.lab:8000", None, False),
        ("https://gpu.lab", "k" * 16, False),
        ("http://localhost:8000", "k" * 16, False),
        ("http://127.0.0.9:8000", "k" * 16, False),
        ("http://[::1]:8000", "k" * 16, False),
    ],
)
def test_a_key_that_travels_in_clear_over_a_network_is_warned_of(url, key, warns):
    warning = Address(url, key).warning
    assert ("over plain http" in warning) == warns
    assert "kkkk" not in warning


@pytest.mark.parametrize(("key", "found"), [("1234567", False), ("12345678", True)])
def test_a_key_of_less_than_eight_characters_may_stand_in_an_answer_by_chance(key: str, found: bool):
    answer = Incoming(200, (), f'{{"image": "{key}"}}'.encode())
    assert Address("https://api.example", key).is_revealed_by(answer) is found


def test_a_key_travels_as_its_scheme_spells_it_and_is_shown_to_nobody():
    for scheme, spelled in (("Bearer", "Bearer user:secret"), ("Basic", "Basic dXNlcjpzZWNyZXQ=")):
        address = Address("https://host", "user:secret", scheme)
        headers = dict(address.outgoing(WireRequest("GET", "/v1/models")).headers)
        assert headers["Authorization"] == spelled
        assert "secret" not in repr(address)
