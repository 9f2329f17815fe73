"""A chat's request within its bounds, and its answer whole or as a stream."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from pcevolve_shared.chat import ChatChunk, ChatRequest, ChatResponse

SAID = {"role": "user", "content": "a leather surface"}
ANSWER = {
    "id": "chat-1",
    "created": 5,
    "model": "words",
    "choices": [
        {"index": 0, "message": {"content": "brown"}, "finish_reason": "stop"},
        {"index": 1, "message": {"content": "black and"}, "finish_reason": "length"},
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6},
}


def ask(**fields: object) -> ChatRequest:
    return ChatRequest.model_validate_json(json.dumps({"messages": [SAID], **fields}))


def test_a_completion_is_one_of_256_tokens_at_temperature_1_unless_something_else_is_asked_for():
    assert [ask().new_tokens, ask(max_tokens=7).new_tokens] == [256, 7]
    assert (ask().temperature, ask().top_p, ask().n) == (1, 1, 1)
    assert ask(max_tokens=7, max_completion_tokens=9).new_tokens == 9


def test_stops_are_none_or_one_or_several():
    assert [ask().stops, ask(stop="end").stops, ask(stop=["a", "b"]).stops] == [(), ("end",), ("a", "b")]


def test_the_largest_chat_of_all_is_taken():
    most = ask(
        messages=[SAID] * 64, n=64, max_tokens=4096, temperature=2, stop=["x" * 64] * 4, seed=2**32 - 1
    )
    assert (len(most.messages), most.n, most.new_tokens, most.temperature) == (64, 64, 4096, 2)
    assert len(ask(messages=[{"role": "user", "content": "x" * 65_536}]).messages[0].content) == 65_536


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": []},
        {"messages": [SAID] * 65},
        {"messages": [{"role": "user", "content": " \n"}]},
        {"messages": [{"role": "user", "content": "x" * 65_537}]},
        {"n": 0},
        {"n": 65},
        {"max_tokens": 0},
        {"max_completion_tokens": 4097},
        {"temperature": 2.1},
        {"top_p": 0},
        {"top_p": 1.1},
        {"stop": []},
        {"stop": ""},
        {"stop": ["a"] * 5},
        {"stop": "x" * 65},
        {"user": "x" * 257},
    ],
)
def test_a_chat_out_of_bounds_is_refused(fields):
    with pytest.raises(ValidationError, match=next(iter(fields))):
        ask(**fields)


@pytest.mark.parametrize("with_usage", [False, True])
def test_a_stream_has_each_completion_its_end_and_the_usage_if_that_was_asked_for(with_usage):
    whole = ChatResponse.model_validate_json(json.dumps(ANSWER))
    *chunks, last = ChatChunk.of(whole, with_usage)
    if not with_usage:
        chunks.append(last)
    found = [
        (each.choices[0].index, each.choices[0].delta.content, each.choices[0].finish_reason)
        for each in chunks
    ]
    assert found == [(0, "brown", None), (0, None, "stop"), (1, "black and", None), (1, None, "length")]
    assert {(each.id, each.created, each.model) for each in (*chunks, last)} == {("chat-1", 5, "words")}
    assert [each.usage for each in chunks] == [None] * 4
    assert (last.choices, last.usage) == ((), whole.usage) or not with_usage


@pytest.mark.parametrize("wrong", [{"messages": [{}] * 20_000}, {"stop": [1] * 30_000}])
def test_of_many_faults_in_a_list_the_first_is_told(wrong):
    asked = {"messages": [SAID]} | wrong
    with pytest.raises(ValidationError) as refused:
        ChatRequest.model_validate(asked)
    assert refused.value.error_count() < 5
