"""A language model behind an OpenAI-compatible chat API: ``Chat`` asks it with public words alone.

No gate stands before it, for nothing that a run knows can reach ``Chat``: whoever asks has a domain and the names of
classes, which prompts to an image API hold anyway. ``answered`` sends what it is given, and ``shown`` gives it images.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pcevolve.egress.transport import Address, ConnectionTroubleError, Transport
from pcevolve.errors import ProviderRefusedError, ProviderReplyError, ProviderUnreachableError
from pcevolve.providers.dialect import WireRequest
from pcevolve.providers.faults import fault

_PATH: Final = "/chat/completions"
_OK: Final = 200
_MOST_CHARACTERS: Final = 100_000


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")

    content: str = Field(max_length=_MOST_CHARACTERS)


class _Choice(BaseModel):
    model_config = ConfigDict(extra="ignore")

    message: _Message


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    choices: list[_Choice] = Field(min_length=1, max_length=100)


class Chat:
    """One model of one API.

    Args:
        address: Where; its path ends before ``/chat/completions``, as in OpenAI's own clients.
        model: Which; as the API calls it.
        transport: To the network.
    """

    def __init__(self, address: Address, model: str, transport: Transport) -> None:
        self._address, self._model, self._transport = address, model, transport

    def asked(self, question: str, seed: int) -> str:
        """The model's answer to one question.

        Args:
            question: Public text.
            seed: Public; for APIs that know one.

        Raises:
            ProviderUnreachableError: No answer came.
            ProviderRefusedError: The API said no.
            ProviderReplyError: The answer is none of a chat API.
        """
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "user", "content": question}],
            "temperature": 1.0,
            "seed": seed,
        }
        return answered(self._address, self._transport, body)


def answered(address: Address, transport: Transport, body: dict[str, Any]) -> str:
    """What a chat API answers to one request.

    Args:
        address: Where it is.
        transport: To the network.
        body: What it is asked, as its contract has it.

    Raises:
        ProviderUnreachableError: No answer came.
        ProviderRefusedError: The API said no.
        ProviderReplyError: The answer is none of a chat API.
    """
    request = WireRequest("POST", _PATH, json.dumps(body).encode())
    try:
        answer = transport.send(address.outgoing(request))
    except ConnectionTroubleError as trouble:
        raise ProviderUnreachableError(f"{address.base_url}: {trouble.reason}") from None
    if answer.status != _OK:
        said = fault(answer.status, answer.body, {}).said
        raise ProviderRefusedError(f"the language model's API answered {answer.status} {said}".rstrip())
    try:
        return _Answer.model_validate_json(answer.body).choices[0].message.content
    except ValidationError:
        raise ProviderReplyError(
            f"{address.base_url}{_PATH} answers, but not as an OpenAI-compatible chat API does"
        ) from None
