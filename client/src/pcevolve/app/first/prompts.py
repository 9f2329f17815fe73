"""Several prompts per class, written by a language model or by a grammar.

There is no gate between the client and a language model on the network, because no data of a run can reach
the model. It receives a domain and the names of classes, which prompts to an image API contain anyway.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final, Protocol

from pcevolve.errors import ProviderRefusedError, ProviderReplyError, UsageError
from pcevolve.public.answers import has_succeeded
from pcevolve.public.run.progress import error_console
from pcevolve.public.screen import ProgressCallback
from pcevolve.public.words import MOST, TEMPLATE, fill, find_label_faults, make_prompts, put_in_one_line
from pcevolve.wire.egress.address import Address
from pcevolve.wire.egress.http_transport import HttpTransport
from pcevolve.wire.egress.retry import Busy, RetryPolicy, require_final
from pcevolve.wire.egress.transport import ConnectionTroubleError, Incoming, Outgoing, Transport
from pcevolve.wire.providers.chat import ChatDialect, read_texts
from pcevolve.wire.providers.dialect import WireRequest
from pcevolve.wire.providers.faults import fault

_PATH: Final = "/chat/completions"


class Chat:
    """One model of one API, with retries while it is busy or unreachable; before the first answer, retries are few.

    The address ends before ``/chat/completions``, as in OpenAI's own clients.
    """

    def __init__(self, address: Address, model: str, transport: Transport, patience: RetryPolicy) -> None:
        self._address, self._model = address, model
        self._transport, self._patience = transport, patience
        self._answered, self._takes_all = False, True

    def asked(self, question: str, seed: int) -> str:
        """Return the model's answer to one public question; the seed, for APIs that take one, is public too.

        Raises:
            ProviderUnreachableError: There was no usable answer.
            ProviderRefusedError: The API refused.
            ProviderReplyError: The answer is not a chat API's.
        """
        body: dict[str, Any] = {"model": self._model, "messages": [{"role": "user", "content": question}]}
        try:
            answer = self._answer(body | ({"temperature": 1.0, "seed": seed} if self._takes_all else {}))
        except ProviderRefusedError as refusal:
            if not self._takes_all or not any(name in str(refusal) for name in ("temperature", "seed")):
                raise
            # Some models refuse a temperature or a seed, and report that only in reply to one.
            self._takes_all = False  # a model reports unsupported fields at the first question
            answer = self._answer(body)
        try:
            texts = read_texts(answer.body)
        except ProviderReplyError as error:
            raise ProviderReplyError(
                f"the answer of {self._address.base_url}{_PATH} is not that of an OpenAI-compatible chat "
                f"API: {error}"
            ) from None
        if not texts or not texts[0]:
            raise ProviderReplyError(
                "the language model wrote nothing: it refused, or its answer ended before it stopped thinking"
            )
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
        raise ProviderRefusedError(
            f"the language model's API answered {answer.status} {found.message}".rstrip()
        )


SECONDS = 120.0
"""Time limit for an answer of a language model, in seconds."""
_TRIES = 4
"""Largest number of requests to a language model that writes too few prompts."""
_LONGEST = 300
_LIST_MARK = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.):])\s*")
_QUESTION = (
    "Write {count} different prompts for a text-to-image model. Each describes one {domain} image that shows: {label}. "
    "Vary what a photographer would vary: view, distance, light, background, and how the thing itself looks. "
    "Name what is shown in every prompt. One prompt a line, no numbers, no quotation marks, nothing else."
)

REFINE = "refine this description of images to introduce rich context: "
"""The request to a language model for each image, before the image's public prompt (LE of the PCEvolve paper,
appendix A.3).
"""
_LONGEST_REFINED = 1000
"""Largest number of characters of a prompt in a plan."""


class PromptWriter(Protocol):
    """A language model, which receives public words only."""

    def asked(self, question: str, seed: int) -> str:
        """Return the model's answer; ``ClientError`` if there is none."""
        ...


def write_by_grammar(domain: str, labels: Sequence[str], count: int) -> dict[str, tuple[str, ...]]:
    """Return prompts of each class from a grammar; ``UsageError`` if more are requested than the grammar has."""
    if count > MOST:
        raise UsageError(
            f"the grammar can write at most {MOST} prompts per class: give a smaller --count, or use a "
            "language model with --api"
        )
    return {label: make_prompts(domain, label, count) for label in labels}


def ask_chat(
    chat: PromptWriter, domain: str, labels: Sequence[str], count: int, show_progress: ProgressCallback
) -> dict[str, tuple[str, ...]]:
    """Return prompts of each class from a language model; if it writes too few, the request is repeated a few times."""
    found = {}
    for done, label in enumerate(labels, 1):
        found[label] = _of_class(chat, domain, label, count)
        show_progress(done, len(labels))
    return found


def refine(
    writer: PromptWriter, domain: str, labels: Sequence[str], count: int, show_progress: ProgressCallback
) -> dict[str, tuple[str, ...]]:
    """Return prompts of each class: a language model refines the public prompt once per image (see ``REFINE``)."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(labels, ())
    for done, (label, seed) in enumerate(product(labels, range(count)), 1):
        answer = writer.asked(REFINE + fill(TEMPLATE, domain, label), seed)
        found[label] += (_refine(answer, label),)
        show_progress(done, count * len(labels))
    return found


def count_unnamed(prompts: Mapping[str, Sequence[str]]) -> int:
    """Count prompts without the name of their class, from which a generator draws the same for all classes."""
    return sum(label.casefold() not in prompt.casefold() for label, own in prompts.items() for prompt in own)


def find_writer(source: str) -> PromptWriter:
    """Return a language model from a folder, or from the cache of transformers; ``ModelError`` if it is missing."""
    from pcevolve.app.writers import load_writer  # imported late, because it loads torch

    return load_writer(source)


def open_chat(url: str, model: str, key: str | None) -> Chat:
    """Return a language model on the network; ``UsageError`` for an unusable address or key."""
    console = error_console()
    patience = RetryPolicy(
        report=lambda notice: console.print(notice.message), advice="run the same command again"
    )
    address = Address(url, key)
    if address.warning:
        console.print(address.warning)
    return Chat(address, model, HttpTransport(SECONDS), patience)


def require_words(domain: str, labels: Sequence[str]) -> None:
    """Refuse words that no run accepts (``UsageError``)."""
    if not labels:
        raise UsageError(
            "give --labels, the class names separated by commas, or --private, a folder with one "
            "subfolder per class"
        )
    if faults := find_label_faults(labels):
        raise UsageError("; ".join(faults[:5]))
    if not domain.strip() or not domain.isprintable():
        raise UsageError("give --domain: public words that say what the images show")


def refuse_overwriting(out: Path, force: bool) -> None:
    """Refuse to overwrite a file without ``force``, or to write into a missing folder (``UsageError``)."""
    if out.exists() and not force:
        raise UsageError(f"{out} already exists: give --force to overwrite it, or another --out")
    if out.is_dir() or not out.parent.is_dir():
        raise UsageError(f"--out {out}: give a file in an existing folder")


def _refine(answer: str, label: str) -> str:
    """Return an answer as one prompt in one line, without its introduction.

    Raises:
        ProviderReplyError: Nothing is left.
    """
    lines = [each for each in answer.splitlines() if each.strip() and not each.rstrip().endswith(":")]
    prompt = put_in_one_line(" ".join(lines)).strip("\"'“”`*").strip()[:_LONGEST_REFINED]
    if not prompt:
        raise ProviderReplyError(f"the language model wrote nothing for '{label}': use another model")
    return prompt


def _of_class(chat: PromptWriter, domain: str, label: str, count: int) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for attempt in range(_TRIES):
        question = _QUESTION.format(count=count - len(found), domain=domain, label=label)
        found |= dict.fromkeys(_prompts_in(chat.asked(question, attempt)))
        if len(found) >= count:
            return tuple(found)[:count]
    raise ProviderReplyError(
        f"the language model wrote only {len(found)} of {count} different prompts for '{label}' in "
        f"{_TRIES} answers: give a smaller --count, or use another model"
    )


def _prompts_in(text: str) -> Iterator[str]:
    """Yield the prompts of an answer, one per line, without list marks and quotation marks."""
    for line in text.splitlines():
        bare = _LIST_MARK.sub("", line).strip().strip("\"'“”`*").strip()
        plain = "".join(each for each in bare if not unicodedata.category(each).startswith("C"))
        if plain and len(plain) <= _LONGEST and not plain.endswith(":"):
            yield plain
