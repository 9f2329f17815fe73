"""A language model behind an OpenAI-compatible chat API, which gets public words alone.

No gate is needed, because no data of a run can reach it: its caller has a domain and the names of classes,
which prompts to an image API contain anyway.
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
    """One model of one API, with retries while it is busy or away; only briefly before its first answer.

    The address ends before ``/chat/completions``, as in OpenAI's own clients.
    """

    def __init__(self, address: Address, model: str, transport: Transport, patience: RetryPolicy) -> None:
        self._address, self._model = address, model
        self._transport, self._patience = transport, patience
        self._answered, self._takes_all = False, True

    def asked(self, question: str, seed: int) -> str:
        """Return the model's answer to one public question; the seed, for APIs that take one, is public too.

        Raises:
            ProviderUnreachableError: No usable answer came.
            ProviderRefusedError: The API refused.
            ProviderReplyError: The answer is not that of a chat API.
        """
        body: dict[str, Any] = {"model": self._model, "messages": [{"role": "user", "content": question}]}
        try:
            answer = self._answer(body | ({"temperature": 1.0, "seed": seed} if self._takes_all else {}))
        except ProviderRefusedError as refusal:
            if not self._takes_all or not any(name in str(refusal) for name in ("temperature", "seed")):
                raise
            # Some models refuse a temperature or a seed, and say so only when they get one.
            self._takes_all = False  # a model reports unsupported fields at the first question
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
        """Send one body, with retries, and return the answer."""
        outgoing = self._address.outgoing(WireRequest("POST", _PATH, json.dumps(body).encode()))
        patience = self._patience if self._answered else self._patience.for_first_contact()
        answer = patience.until_answered(lambda: self._attempt(outgoing))
        self._answered = True
        return answer

    def _attempt(self, outgoing: Outgoing) -> Incoming:
        """Return a successful answer.

        Raises:
            Busy: A retry may succeed.
            ProviderRefusedError: A retry would not help.
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
