"""The JSON of a chat with a language model, as in OpenAI's Chat Completions API. No I/O."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pcevolve_shared import limits, wire
from pcevolve_shared.wire import WHOLE, WireModel

Role = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length"]
Text = Annotated[str, Field(max_length=limits.MAX_FIELDS_BYTES)]
_Stop = Annotated[str, Field(min_length=1, max_length=limits.MAX_STOP_CHARS)]
_Tokens = Annotated[int, Field(ge=1, le=limits.MAX_NEW_TOKENS), WHOLE]
_Count = Annotated[int, Field(ge=0)]


class ChatMessage(WireModel):
    """A message of a conversation."""

    role: Role
    content: Text


def _require_words(messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    if not any(each.content.strip() for each in messages):
        raise ValueError("nobody says anything")
    return messages


class StreamOptions(WireModel):
    """Options of a streamed answer."""

    include_usage: bool | None = None


class ChatRequest(WireModel):
    """``POST`` :data:`~pcevolve_shared.wire.CHAT`."""

    model: Annotated[wire.Name | None, Field(description="Absent: the first model that writes text.")] = None
    messages: Annotated[
        tuple[ChatMessage, ...],
        # Fail fast: 64 KiB of wrong messages would give tens of thousands of errors.
        Field(min_length=1, max_length=limits.MAX_MESSAGES, strict=False, fail_fast=True),
        AfterValidator(_require_words),
    ]
    n: Annotated[int, Field(ge=1, le=limits.MAX_COMPLETIONS), WHOLE] = 1
    max_tokens: Annotated[_Tokens | None, Field(description="Absent, and the next too: 256.")] = None
    max_completion_tokens: _Tokens | None = None
    temperature: Annotated[float, Field(ge=0, le=2, description="0: always the likeliest token.")] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    stop: (
        _Stop
        | Annotated[
            tuple[_Stop, ...], Field(min_length=1, max_length=limits.MAX_STOPS, strict=False, fail_fast=True)
        ]
        | None
    ) = None
    seed: Annotated[
        wire.Seed | None,
        Field(description="Completion k gets the seed (seed + k) mod 2**32. Absent: drawn at random."),
    ] = None
    stream: Annotated[
        bool | None,
        Field(
            description="Answer with server-sent events. Texts are written in batches, so each text comes in one chunk."
        ),
    ] = None
    stream_options: StreamOptions | None = None
    user: Annotated[str | None, Field(max_length=limits.MAX_NAME_CHARS, description="Ignored.")] = None

    @property
    def new_tokens(self) -> int:
        """Return the largest number of tokens of a completion."""
        return self.max_completion_tokens or self.max_tokens or 256

    @property
    def stops(self) -> tuple[str, ...]:
        """Return the strings that end a completion and are not part of it."""
        return (self.stop,) if isinstance(self.stop, str) else self.stop or ()


class ChatReply(WireModel):
    """The model's reply. The number of tokens bounds its length."""

    role: Literal["assistant"] = "assistant"
    content: str


class ChatChoice(WireModel):
    """One completion."""

    index: _Count
    message: ChatReply
    finish_reason: Finish


class Usage(WireModel):
    """Numbers of tokens. The prompt's tokens count once for all completions."""

    prompt_tokens: _Count
    completion_tokens: _Count
    total_tokens: _Count


class ChatResponse(WireModel):
    """The answer. Its completions are in the order of their seeds."""

    id: wire.Name
    object: Literal["chat.completion"] = "chat.completion"
    created: _Count
    model: wire.Name
    choices: Annotated[tuple[ChatChoice, ...], Field(min_length=1, max_length=limits.MAX_COMPLETIONS)]
    usage: Usage


class Delta(WireModel):
    """The text that a chunk adds to a completion."""

    role: Literal["assistant"] | None = None
    content: str | None = None


class ChunkChoice(WireModel):
    """The part of a completion that a chunk contains."""

    index: _Count
    delta: Delta
    finish_reason: Finish | None = None


class ChatChunk(WireModel):
    """A part of a streamed answer. A chunk without choices has the usage."""

    id: wire.Name
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: _Count
    model: wire.Name
    choices: Annotated[tuple[ChunkChoice, ...], Field(max_length=limits.MAX_COMPLETIONS)]
    usage: Usage | None = None

    @classmethod
    def of(cls, whole: ChatResponse, with_usage: bool) -> tuple["ChatChunk", ...]:
        """Return a whole answer as a stream: each completion, its end, and the usage if it was requested."""

        def chunk(choices: tuple[ChunkChoice, ...], usage: Usage | None = None) -> ChatChunk:
            return cls(id=whole.id, created=whole.created, model=whole.model, choices=choices, usage=usage)

        parts = [
            part
            for each in whole.choices
            for part in (
                ChunkChoice(index=each.index, delta=Delta(role="assistant", content=each.message.content)),
                ChunkChoice(index=each.index, delta=Delta(), finish_reason=each.finish_reason),
            )
        ]
        ending = (chunk((), whole.usage),) if with_usage else ()
        return (*(chunk((part,)) for part in parts), *ending)
