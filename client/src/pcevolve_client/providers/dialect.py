"""What a dialect is: how one remote API spells the calls of a plan. Pure; opens no sockets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from pcevolve_shared import images

from ..errors import ProviderReplyError, UsageError
from ..plan import Call, PublicPlan
from ..release import PublicPrompt

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class WireRequest:
    """A request as it leaves, without what the transport adds (host, key)."""

    method: str
    path: str
    body: bytes = b""

    @property
    def content_type(self) -> str | None:
        """Media type of the body."""
        return "application/json" if self.body else None


@dataclass(frozen=True)
class ModelSize:
    """Native size of the provider's model, in pixels."""

    width: int
    height: int


class Dialect(Protocol):
    """One remote API's way of saying things.

    Attributes:
        name: What ``--dialect`` calls it.
        capabilities: Of ``create``, ``vary``, ``strength``, ``seed``, ``steps``, ``negative_prompt``, ``batch``.
    """

    name: str
    capabilities: frozenset[str]

    def encode(self, plan: PublicPlan, call: Call, prompt: PublicPrompt, image: bytes | None) -> WireRequest:
        """Spell a call; ``image`` is the prototype's received bytes for a variation, else None."""
        ...

    def decode(self, call: Call, body: bytes) -> list[bytes]:
        """Read the images out of an answer.

        Raises:
            ProviderReplyError: The answer breaks the API's contract.
        """
        ...

    def hello(self) -> WireRequest:
        """A free request that tells whether address and key are right."""
        ...

    def native_size(self, model: str, body: bytes) -> ModelSize | None:
        """Size of a model from the answer to ``hello``, where the API tells it.

        Raises:
            UsageError: The API does not have the model.
            ProviderReplyError: The answer breaks the API's contract.
        """
        ...


def json_body(fields: Mapping[str, Any]) -> bytes:
    """Serialise in one canonical way, so that equal calls are equal bytes."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def parsed(model: type[Model], body: bytes) -> Model:
    """Validate an answer.

    Raises:
        ProviderReplyError: It is not what the contract promises; its content is not repeated.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in fault["loc"]) or "the whole answer"
        raise ProviderReplyError(f"the API's answer breaks the contract at {where}: {fault['msg']}") from None


def require(dialect: Dialect, needed: set[str]) -> None:
    """Refuse a run that its dialect cannot carry out, before anything is paid.

    Raises:
        UsageError: A capability is missing.
    """
    missing = sorted(needed - dialect.capabilities)
    if missing:
        raise UsageError(
            f"dialect '{dialect.name}' lacks {', '.join(missing)}, which this run needs: "
            "choose another --dialect, or --method t2i, which needs no variations"
        )


def received_images(call: Call, encoded: Sequence[str]) -> list[bytes]:
    """Decode the base64 images of an answer.

    Raises:
        ProviderReplyError: Not as many as were asked for, or not canonical base64.
    """
    if len(encoded) != call.count:
        raise ProviderReplyError(f"the API sent {len(encoded)} images where {call.count} were asked for")
    try:
        return [images.from_base64(each) for each in encoded]
    except images.ImageError as error:
        raise ProviderReplyError(f"the API sent an image that is wrong: {error}") from None
