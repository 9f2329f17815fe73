"""Parts of an answer that are taken: its size, the links that are followed, the model that gave it."""

from __future__ import annotations

import time

import pytest

from pcevolve.errors import ProviderReplyError
from pcevolve.wire.egress.answers import check_size, follow, is_same_model
from pcevolve_shared import images
from support.provider import png
from support.runs import small_plan

FAR = small_plan(api="https://api.example", image_hosts=("img.example", "127.0.0.1", "cdn.example:8443"))


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("https://other.example/a.png", "provider.image_hosts=other.example"),
        ("https://img.example:8443/a.png", "provider.image_hosts=img.example:8443"),
        ("https://img.example.evil/a.png", "provider.image_hosts=img.example.evil"),
        ("https://img.example@other.example/a.png", "not a plain https address"),
        ("https://user:pw@img.example/a.png", "not a plain https address"),
        ("http://img.example/a.png", "do not use https"),
        ("http://127.0.0.1/a.png", "do not use https"),
        ("file:///etc/passwd", "not a plain https address"),
        ("ftp://img.example/a.png", "not a plain https address"),
        ("https://img.example/a b.png", "not a plain https address"),
        ("https://img.example\\@other.example/", "not a plain https address"),
        ("https://img.example/a\r\nX: y", "not a plain https address"),
        ("https://img.example/#fragment", "not a plain https address"),
        ("https://img.example:99999/", "not a plain https address"),
        ("https://[::1", "not a plain https address"),
        ("https://cdn.example:x/a", "not a plain https address"),
        ("https://cdn.example:0/a", "link"),
        ("https:///a.png", "not a plain https address"),
        ("https://ïmg.example/a.png", "not a plain https address"),
        ("", "not a plain https address"),
    ],
)
def test_any_other_link_is_refused(link, reason):
    with pytest.raises(ProviderReplyError, match=reason):
        follow(FAR, link)


@pytest.mark.parametrize(
    ("api", "link"),
    [
        ("https://api.example", "https://img.example/a.png?b=c"),
        ("https://api.example", "https://img.example:443/a.png"),
        ("https://api.example", "https://cdn.example:8443/a.png"),
        ("http://127.0.0.1:9", "http://127.0.0.1:80/a.png"),
    ],
)
def test_a_link_to_a_host_of_the_plan_is_asked_for_as_it_stands_without_a_key(api, link):
    plan = small_plan(api=api, image_hosts=("img.example", "127.0.0.1", "cdn.example:8443"))
    asked = follow(plan, link)
    assert (asked.method, asked.url, asked.body) == ("GET", link, b"")
    assert {name.lower() for name, _ in asked.headers} == {"host", "user-agent", "accept", "accept-encoding"}


@pytest.mark.parametrize(("side", "allowed"), [(1024, True), (1032, False)])
def test_an_image_may_be_larger_than_asked_for_but_not_endlessly(side, allowed):
    made = [b"no image", images.encode(images.decode(png(1)).resize((side, side)))]
    one, other = (check_size(small_plan(), each) for each in made)
    assert one == b"no image"
    if allowed:
        assert other == made[1]
    else:
        assert "1032 x 1032 pixels where 16 x 16 were asked for" in str(other)


@pytest.mark.parametrize(
    ("asked", "answered", "same"),
    [
        # OpenAI, Models: platform.openai.com/docs/models: an alias is answered with its snapshot
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", False),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", False),
        ("gpt-4", "gpt-3.5-turbo", False),
        # Ollama, OpenAI compatibility: docs.ollama.com/openai
        ("llama3", "llama3:latest", True),
        ("llama3:8b", "llama3:70b", False),
        # OpenRouter, Models: openrouter.ai/docs/models; Mistral: docs.mistral.ai/getting-started/models
        ("meta-llama/llama-3.1-8b-instruct:free", "meta-llama/llama-3.1-8b-instruct", True),
        ("mistral-large-latest", "mistral-large-2411", True),
        # llama.cpp's server answers with the file
        ("qwen2.5-7b-instruct-q4", "/models/Qwen2.5-7B-Instruct-Q4.gguf", True),
        # the web UI's titles
        ("v1-5-pruned-emaonly.safetensors [6ce0161689]", "v1-5-pruned-emaonly [6ce0161689]", True),
        ("sd/v1-5-pruned-emaonly.safetensors [6ce0161689]", "v1-5-pruned-emaonly", True),
        ("v1-5-pruned-emaonly [6ce0161689]", "v1-5-pruned-emaonly [aaaaaaaaaa]", False),
        ("bundled", "pcevolve/bundled", True),
    ],
)
def test_one_model_under_two_names(asked: str, answered: str, same: bool):
    assert is_same_model(asked, answered) == same


@pytest.mark.parametrize("name", [" " * 2**20 + "x", "-1" * 2**19 + "x"], ids=["blanks", "versions"])
def test_a_name_that_is_longer_than_any_takes_no_time(name: str):
    began = time.process_time()
    assert not is_same_model("bundled", name)
    assert time.process_time() - began < 1


def test_a_name_has_at_most_200_characters():
    assert is_same_model("bundled", "x/" * 96 + "/bundled")
    assert not is_same_model("bundled", "x/" * 96 + "//bundled")
