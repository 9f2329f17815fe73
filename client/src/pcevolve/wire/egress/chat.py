"""A language model behind an OpenAI-compatible chat API, asked with public words alone.

No gate stands before it, for nothing that a run knows can reach it: whoever asks has a domain and the names of classes,
which prompts to an image API hold anyway.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pcevolve.errors import ProviderRefusedError, ProviderReplyError
from pcevolve.public.answers import has_succeeded
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.retry import Busy, RetryPolicy, require_final
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing, Transport
from pcevolve.wire.providers.chat import ChatDialect, read_texts
from pcevolve.wire.providers.dialect import WireRequest
from pcevolve.wire.providers.faults import fault

_PATH: Final = "/chat/completions"


class Chat:
    """One model of one API, which is asked again while it is busy or away; only briefly until it answered once.

    The address ends before ``/chat/completions``, as in OpenAI's own clients.
    """

    def __init__(self, address: Address, model: str, transport: Transport, patience: RetryPolicy) -> None:
        self._address, self._model = address, model
        self._transport, self._patience = transport, patience
        self._answered, self._takes_all = False, True

    def asked(self, question: str, seed: int) -> str:
        """Return the model's answer to one question, which is public, as is its seed, for APIs that know one.

        Raises:
            ProviderUnreachableError: No usable answer came.
            ProviderRefusedError: The API said no.
            ProviderReplyError: The answer is none of a chat API.
        """
        body: dict[str, Any] = {"model": self._model, "messages": [{"role": "user", "content": question}]}
        try:
            answer = self._answer(body | ({"temperature": 1.0, "seed": seed} if self._takes_all else {}))
        except ProviderRefusedError as refusal:
            if not self._takes_all or not any(name in str(refusal) for name in ("temperature", "seed")):
                raise
            # Some models refuse to be sampled at a temperature or by a seed, and say so only when they are asked to.
            self._takes_all = False  # what a model does not take it says at the first question
            answer = self._answer(body)
        try:
            texts = read_texts(answer.body)
        except ProviderReplyError as error:
            raise ProviderReplyError(
                f"{self._address.base_url}{_PATH} answers, but not as an OpenAI-compatible chat API does: {error}"
            ) from None
        if not texts or not texts[0]:
            raise ProviderReplyError("the language model wrote nothing: it refused, or thought until its end")
        return texts[0]

    def _answer(self, body: dict[str, Any]) -> Incoming:
        """Return the answer to one body, which is sent again while patience lasts."""
        outgoing = self._address.outgoing(WireRequest("POST", _PATH, json.dumps(body).encode()))
        patience = self._patience if self._answered else self._patience.for_first_contact()
        answer = patience.until_answered(lambda: self._attempt(outgoing))
        self._answered = True
        return answer

    def _attempt(self, outgoing: Outgoing) -> Incoming:
        """Return an answer that is a success.

        Raises:
            Busy: It may pass.
            ProviderRefusedError: Asking again would not help.
        """
        try:
            answer = self._transport.send(outgoing)
        except ConnectionTroubleError as trouble:
            raise Busy(f"{self._address.base_url}: {trouble.reason}", None) from None
        if has_succeeded(answer.status, answer.body):
            return answer
        found = fault(answer.status, answer.body, ChatDialect.reasons)
        require_final(answer.status, found, answer.header("Retry-After"))
        raise ProviderRefusedError(f"the language model's API answered {answer.status} {found.said}".rstrip())
