"""Chat APIs over real HTTP, and what they are asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from pcevolve.app.first.prompts import ask_chat, open_chat
from support.online import Heard, LocalServer, Reply, answer_json
from support.provider import text


def chatting(*answers: str) -> Iterator[Reply]:
    """Answers of a chat API, the last one for ever."""
    for answer in answers:
        yield answer_json(200, {"choices": [{"message": {"role": "assistant", "content": answer}}]})
    while True:
        yield answer_json(200, {"choices": [{"message": {"role": "assistant", "content": answers[-1]}}]})


@contextmanager
def speaking(replies: Iterator[Reply]) -> Iterator[LocalServer]:
    server = LocalServer(lambda heard: next(replies))
    try:
        yield server
    finally:
        server.close()


def prompts(server: LocalServer, count: int, key: str | None = None, labels: tuple[str, ...] = ("cut",)):
    chat = open_chat(f"{server.address}/v1", "tiny", key)
    return ask_chat(chat, "leather texture", labels, count, lambda done, total: None)


SEEDS = count()


def choice(content: object, reason: str = "stop", **message: object) -> dict[str, object]:
    return {"message": {"role": "assistant", "content": content, **message}, "finish_reason": reason}


def thinking(heard: Heard) -> Reply:
    """OpenAI's reasoning models: the fields that they refuse are refused, in the words of platform.openai.com."""
    if heard.method == "GET":
        return answer_json(200, {"data": [{"id": "bundled"}]})
    fields = json.loads(heard.body)
    for name in ("max_tokens", "temperature", "seed", "n"):
        if name in fields:
            fault = f"Unsupported parameter: '{name}' is not supported with this model."
            return answer_json(
                400, {"error": {"message": fault, "param": name, "code": "unsupported_parameter"}}
            )
    written = text(next(SEEDS), fields["messages"][0]["content"])
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": f"<think>x</think> {written}"},
    ]
    return answer_json(200, {"model": "bundled", "choices": [choice(parts)]})
