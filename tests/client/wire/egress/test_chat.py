"""A language model behind a chat API is asked public words, again while it is busy."""

from __future__ import annotations

import json
from itertools import chain

import pytest

from pcevolve.errors import ProviderReplyError
from support.chats import chatting, prompts, speaking
from support.online import answer_json

KEY = "sk-5ecret-0123456789"


def test_it_is_asked_public_words_and_nothing_else():
    with speaking(chatting("a\nb")) as server:
        prompts(server, 2, KEY, ("cut", "good"))
        first, second = server.heard
    assert (first.method, first.path) == ("POST", "/v1/chat/completions")
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.headers["user-agent"] == "pcevolve"
    asked = [json.loads(each.body) for each in (first, second)]
    assert [set(each) for each in asked] == [{"model", "messages", "temperature", "seed"}] * 2
    words = [each["messages"][0]["content"] for each in asked]
    assert "one leather texture image that shows: cut." in words[0]
    assert words[0].replace("shows: cut.", "shows: good.") == words[1]


def test_a_model_that_takes_no_temperature_and_thinks_writes_prompts_all_the_same():
    fault = {
        "message": "Unsupported value: 'temperature' does not support 1.0 with this model.",
        "code": None,
    }
    thought = "<think>A list?</think>1. A cut in leather\n2. A long cut"
    answers = chain([answer_json(400, {"error": fault})], chatting(thought))
    with speaking(answers) as server:
        made = prompts(server, 2)
        asked = [set(json.loads(each.body)) for each in server.asked]
    assert made == {"cut": ("A cut in leather", "A long cut")}
    assert asked == [{"model", "messages", "temperature", "seed"}, {"model", "messages"}]


@pytest.mark.parametrize("answer", [{"choices": []}, {"choices": [{"message": {"content": None}}]}, []])
def test_an_answer_that_is_none_is_an_error(answer: object):
    with (
        speaking(iter([answer_json(200, answer)])) as server,
        pytest.raises(ProviderReplyError, match=r"not as an OpenAI-compatible|wrote nothing"),
    ):
        prompts(server, 1)
