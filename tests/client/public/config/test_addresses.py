"""What is refused of an address, a key and a proxy before anything is sent."""

from __future__ import annotations

import pytest

from pcevolve.errors import UsageError
from pcevolve.public.config.addresses import require_address, require_key, require_proxy


def test_an_address_is_refused_by_the_option_that_gave_it():
    for url in ("ftp://x", "http://user:pw@host", "http://host ", "https://host/v1/models"):
        with pytest.raises(UsageError, match=r"^api ") as refused:
            require_address(url, "api", "api_key_file")
        assert "--api" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://api.openai.com/v1/images/generations", "/images/generations"),
        ("https://host/v1/chat/completions/", "/chat/completions"),
        ("https://host/v1/models", "/v1/models"),
        ("http://127.0.0.1:7860/sdapi/v1/txt2img", "/txt2img"),
        ("https://api.stability.ai/v2beta/stable-image/generate/sd3", "/generate/sd3"),
    ],
)
def test_the_address_of_one_operation_is_told_from_that_of_an_api(url, found):
    with pytest.raises(UsageError, match=f"give only what comes before {found}"):
        require_address(url)
    require_address(url.partition(found)[0] + "/v1")


@pytest.mark.parametrize(("key", "said"), [("", "is empty"), ("se\ncret", "characters that cannot be sent")])
def test_a_key_that_is_none_is_refused_and_not_repeated(key, said):
    with pytest.raises(UsageError, match=f"the API key .*{said}") as error:
        require_key(key, "Bearer")
    assert "cret" not in str(error.value)


@pytest.mark.parametrize(
    "proxy", ["proxy:3128", "http://user:pw@proxy", "http://proxy/path", "socks5://proxy"]
)
def test_a_proxy_that_is_no_plain_address_is_refused(proxy):
    with pytest.raises(UsageError, match=r"provider\.proxy"):
        require_proxy("https://host", proxy)


def test_a_proxy_that_could_read_what_passes_is_refused():
    with pytest.raises(UsageError, match="is used only for https"):
        require_proxy("http://host", "http://proxy:3128")
