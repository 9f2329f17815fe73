"""OpenAI's Chat Completions API, which most language models offer: texts in place of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import AliasChoices, Field, model_validator

from pcevolve.errors import ProviderReplyError
from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.media.answering import read_answer
from pcevolve.public.media.texts import TEXTS
from pcevolve.public.modality import ModelSize, Texts
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import Reply, encode_json, model_named, no_model, parse_answer
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest
from pcevolve.wire.providers.faults import Reason
from pcevolve_shared import limits, wire
from pcevolve_shared.blanks import question

# The last five are faults, after which the text is incomplete and counts as none.
WITHHELD: Final = frozenset({
    "content_filter", "content_filtered", "sensitive", "safety", "recitation", "refusal",
    "guardrail_intervened", "error", "network_error", "insufficient_system_resource", "abort",
    "cancelled",
})  # fmt: skip
"""Finish reasons of an answer without a text: a filter, a refusal, or a fault."""


_FULL: Final = frozenset({"length", "max_tokens", "max_output_tokens"})
"""Finish reasons of an answer that reached its length limit."""
CUT: Final = (
    "texts that were cut off at the allowed length: give more provider.tokens, or a prompt that asks for "
    "shorter texts, in a new run"
)
THOUGHT: Final = (
    "no text, because the model used all allowed tokens for thinking: give more provider.tokens, or use "
    "a model that does not think, in a new run"
)


class _Message(Reply):
    content: str | list[Any] | None = None
    refusal: str | None = None


class _Choice(Reply):
    message: _Message | None = None
    finish_reason: str | None = None
    written: Annotated[Any, Field(validation_alias=AliasChoices("text", "delta"))] = None

    @model_validator(mode="after")
    def _of_a_chat(self) -> Self:
        """Refuse a choice whose text is in another API's field, because it would count as empty."""
        if self.message is None and self.written:
            raise ValueError(
                "there is no message, only text or delta, as in an answer of the "
                "completions API or in a stream"
            )
        return self

    @property
    def ended_by(self) -> str:
        """The finish reason in lower case; empty if the API gives none."""
        # Gateways pass on the underlying vendor's spelling, such as ``MAX_TOKENS``.
        return (self.finish_reason or "").lower()

    @property
    def text(self) -> str:
        """The written text; empty if it was refused, filtered, cut off by a fault, or consists of reasoning alone."""
        withheld = self.ended_by in WITHHELD
        # A refusal is a text too; without this check it would become a candidate.
        if self.message is None or withheld or self.message.refusal:
            return ""
        return read_answer(self.message.content)


TRIAL: Final = "Write one word."
SEEDS: Final = 2**31
"""Upper limit of seeds: some APIs store them as signed 32-bit integers."""


class _Answer(Reply):
    choices: Annotated[list[_Choice], Field(max_length=limits.MAX_COMPLETIONS)]


class _Model(Reply):
    id: str


class _Models(Reply):
    data: list[_Model]


def read_texts(body: bytes) -> list[str]:
    """Return each choice's text, empty if the choice has none (``ProviderReplyError`` if the contract is broken)."""
    return [each.text for each in parse_answer(_Answer, body).choices]


def _request(model: str, asked: str, texts: Texts, call: Call) -> WireRequest:
    fields: dict[str, Any] = {
        "n": call.count,
        "max_tokens": texts.tokens,
        "temperature": texts.temperature,
        # Reduced, not refused, because the seed is public and any function of it serves.
        "seed": call.seed % SEEDS,
    }
    whole = {"model": model, "messages": [{"role": "user", "content": asked}]}
    return WireRequest("POST", wire.CHAT, encode_json(whole | texts.spelled(fields)))


class ChatDialect(Dialect):
    """One question per text; a variation repeats the question with the varied text, in which some words are blank."""

    abilities = ABILITIES["chat"]
    one_a_request = "provider.fields=single"
    reasons: ClassVar[Mapping[str, Reason]] = {
        "insufficient_quota": "credit",
        "content_filter": "content",
        "unsupported_parameter": "field",
        "unsupported_value": "field",
        "unknown_parameter": "field",
        "extra_forbidden": "field",
    }

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Encode a call.

        The blank words of a varied text are a function of the text, the call's seed and its degree. An
        output that is not a text is varied by a new request.
        """
        prompt = plan.prompt_of(call)
        # Blanked here and again in the audit: the blanks follow from public values, so no text is stored
        # twice.
        left = None if image is None else TEXTS.blank(image, call.strength or 0.0, call.seed)
        asked = prompt if left is None else question(prompt, left)
        return _request(plan.provider.model, asked, plan.texts, call)

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Return the texts of an answer, unchanged; a choice without a text gives an empty text."""
        return [each.encode() for each in read_texts(body)]

    def trial(self, model: str) -> WireRequest:
        """Request two words, with only the fields that show whether ``n`` is supported."""
        # No token limit, seed or temperature, because a refusal of one of these would look like a refusal of
        # ``n``.
        asked = {"model": model, "messages": [{"role": "user", "content": TRIAL}], "n": 2}
        return WireRequest("POST", wire.CHAT, encode_json(asked))

    def takes_several(self, body: bytes) -> bool:
        """True if two answers came; APIs without ``n`` ignore or refuse it."""
        try:
            return len(parse_answer(_Answer, body).choices) > 1
        except ProviderReplyError:
            return False

    def native_size(self, model: str, body: bytes) -> ModelSize | None:
        """Return None, because texts have no size (``UsageError`` if the API's list of models lacks this model)."""
        listed = [each.id for each in parse_answer(_Models, body).data]
        # An empty list means nothing: some gateways list no model and answer for all.
        if listed and model not in listed:
            raise no_model(model, listed)
        return None

    def remarks(self, prompt: str, body: bytes) -> frozenset[str]:
        """Report texts that end at the token limit."""
        full = [each for each in parse_answer(_Answer, body).choices if each.ended_by in _FULL]
        return frozenset(CUT if each.text else THOUGHT for each in full)

    def answered_by(self, body: bytes) -> str | None:
        return model_named(body)
