"""Chats over HTTP, asked by OpenAI's own client, unchanged, and by others that mean no good."""

import json
from functools import partial

import openai
import pytest

from pcevolve_server import models
from pcevolve_server.model_settings import ModelSettings
from pcevolve_server.models import ModelCache
from pcevolve_shared import limits, wire
from support.served import FakeGenerator, serve_app
from support.tiny_writer import load, save_writer

pytestmark = pytest.mark.models

ASK = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 12, "seed": 5}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return save_writer(tmp_path_factory.mktemp("writers") / "tiny")


@pytest.fixture
def http(directory):
    with serve_app(load(directory)) as found:
        yield found


@pytest.fixture
def both(directory):
    """A server of images, which come first, and of texts."""
    text = partial(models.load, ModelSettings(f"text:{directory}", threads=1))
    fake = FakeGenerator()
    fake.memory = 1
    with serve_app(ModelCache([lambda: fake, text])) as found:
        yield found


def post(http, **changes):
    return http.post(wire.CHAT, json={**ASK, **changes})


def read_answers(answer):
    assert answer.status_code == 200, answer.text
    return [each["message"]["content"] for each in answer.json()["choices"]]


def read_refusal(answer):
    return answer.status_code, answer.json()["error"]["message"]


def test_openais_client_chats(http):
    client = openai.OpenAI(base_url="http://127.0.0.1/v1", api_key="any", http_client=http)
    answer = client.chat.completions.create(
        model="tiny", messages=ASK["messages"], n=3, seed=5, max_tokens=12, temperature=0.9, top_p=0.95,
        stop=["\n", "#"], user="somebody", stream=False,
    )  # fmt: skip
    assert [each.index for each in answer.choices] == [0, 1, 2]
    assert len({each.message.content for each in answer.choices}) == 3
    assert answer.usage.total_tokens == 5 + answer.usage.completion_tokens <= 5 + 3 * 12
    assert (answer.model, answer.choices[0].message.role) == ("tiny", "assistant")
    assert [each.id for each in client.models.list()] == ["tiny"]


def test_openais_client_reads_a_stream(http):
    client = openai.OpenAI(base_url="http://127.0.0.1/v1", api_key="any", http_client=http)
    ask = {"model": "tiny", "messages": ASK["messages"], "n": 2, "seed": 5, "max_tokens": 12}
    whole = client.chat.completions.create(**ask)
    chunks = list(client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    texts, ends = ["", ""], {}
    for choice in (each for chunk in chunks for each in chunk.choices):
        texts[choice.index] += choice.delta.content or ""
        ends |= {choice.index: choice.finish_reason} if choice.finish_reason else {}
    assert texts == [each.message.content for each in whole.choices]
    assert ends == {each.index: each.finish_reason for each in whole.choices}
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert [chunk.usage for chunk in chunks if chunk.usage] == [whole.usage]
    alone = list(client.chat.completions.create(**ask, stream=True))
    assert not any(chunk.usage for chunk in alone)


def test_a_server_of_images_and_of_texts_gives_each_what_it_asks_for(both):
    assert read_answers(post(both)) == read_answers(post(both, model="tiny"))
    image = {"prompt": "a cat", "width": 64, "height": 32}
    assert both.post(wire.TEXT_TO_IMAGE, json=image).status_code == 200
    assert read_refusal(post(both, model="fake")) == (
        422, "model: maker/fake supports text-to-image, image-to-image, not chat",
    )  # fmt: skip
    assert read_refusal(both.post(wire.TEXT_TO_IMAGE, json={**image, "model": "tiny"})) == (
        422, "model: tiny supports chat, not text-to-image",
    )  # fmt: skip
    listed = both.get(wire.MODELS).json()["data"]
    assert ["base_resolution" in each for each in listed] == [True, False]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"messages": []}, "messages: Tuple should have at least 1 item"),
        ({"messages": [{"role": "user", "content": " \n"}]}, "nobody says anything"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role: Input should be"),
        ({"messages": ASK["messages"] * (limits.MAX_MESSAGES + 1)}, "messages: Tuple should have at most 64"),
        ({"x": [[[1]]]}, "x: Extra inputs are not permitted"),
        ({"n": limits.MAX_COMPLETIONS + 1}, "n: Input should be less than or equal to 64"),
        ({"max_tokens": limits.MAX_NEW_TOKENS + 1}, "max_tokens: Input should be less than or equal to 4096"),
        ({"temperature": -1}, "temperature: Input should be greater than or equal to 0"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"stop": ""}, "stop"),
        ({"stream": 1}, "stream: Input should be a valid boolean"),
        ({"stream_options": {"include_obfuscation": True}}, "Extra inputs are not permitted"),
        ({"tools": []}, "tools: Extra inputs are not permitted"),
    ],
)
def test_what_cannot_be_done_is_refused(http, changes, message):
    status, told = read_refusal(post(http, **changes))
    assert (status, message in told) == (422, True), told


def test_a_chat_has_room_for_its_messages_and_no_more(http):
    messages = [{"role": "user", "content": "a, b: {c} [d]"}] * limits.MAX_MESSAGES
    assert len(read_answers(post(http, messages=messages, stop=["1", "2", "3", "4"]))) == 1
    long = json.dumps({**ASK, "user": "x" * limits.MAX_FIELDS_BYTES})
    assert http.post(wire.CHAT, content=long).status_code == 413
