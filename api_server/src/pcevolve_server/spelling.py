"""How what happens to a request is spelled as server-sent events: as our own API does, and as OpenAI's chats do."""

import json
from collections.abc import Mapping
from typing import Final, Protocol

from pcevolve_server.rendering import Answer
from pcevolve_shared.chat import ChatChunk, ChatResponse

HEARTBEAT: Final = b": still here\n\n"


class Spelling(Protocol):
    """One way to spell it."""

    def news(self, name: str, facts: Mapping[str, int]) -> bytes:
        """How far a request is."""
        ...

    def cut(self, tokens: int) -> bytes:
        """How much of a prompt the model did not read."""
        ...

    def done(self, answer: Answer) -> bytes:
        """The answer, which is the end."""
        ...

    def failed(self, error: str) -> bytes:
        """The JSON of an error, which is the end too."""
        ...


class Events:
    """Named events: news, ``cut``, and at last ``done`` with the plain answer, or ``error``."""

    def news(self, name: str, facts: Mapping[str, int]) -> bytes:
        """See ``Spelling.news``."""
        return _event(name, json.dumps(facts))

    def cut(self, tokens: int) -> bytes:
        """See ``Spelling.cut``."""
        return _event("cut", json.dumps({"tokens": tokens}))

    def done(self, answer: Answer) -> bytes:
        """See ``Spelling.done``."""
        return _event("done", answer.body)

    def failed(self, error: str) -> bytes:
        """See ``Spelling.failed``."""
        return _event("error", error)


class Chunks:
    """Chunks of a chat, which are data without names, and ``[DONE]``; of news there are only comments."""

    def __init__(self, with_usage: bool) -> None:
        """Begin.

        Args:
            with_usage: Whether the last chunk tells how many tokens there were.
        """
        self._with_usage = with_usage

    def news(self, name: str, facts: Mapping[str, int]) -> bytes:
        """See ``Spelling.news``."""
        return HEARTBEAT

    def cut(self, tokens: int) -> bytes:
        """See ``Spelling.cut``."""
        return f": {tokens} tokens of the prompt were cut\n\n".encode()

    def done(self, answer: Answer) -> bytes:
        """See ``Spelling.done``."""
        whole = ChatResponse.model_validate_json(answer.body)
        chunks = (each.model_dump_json() for each in ChatChunk.of(whole, self._with_usage))
        return b"".join(map(_data, [*chunks, "[DONE]"]))

    def failed(self, error: str) -> bytes:
        """See ``Spelling.failed``."""
        return _data(error)


def _event(name: str, line: str) -> bytes:
    """An event; its data are JSON, which has no line breaks."""
    return f"event: {name}\n".encode() + _data(line)


def _data(line: str) -> bytes:
    return f"data: {line}\n\n".encode()
