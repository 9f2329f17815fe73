"""The OpenAI Images dialect, text-to-image only.

Its edits endpoint has no ``strength``, so methods that vary prototypes refuse it before anything is paid.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pcevolve_shared import limits

from ..errors import EgressError
from ..plan import Call, PublicPlan
from ..release import PublicPrompt
from .dialect import ModelSize, WireRequest, json_body, parsed, received_images

GENERATIONS = "/v1/images/generations"
MODELS = "/v1/models"


class _Image(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)
    b64_json: Annotated[str, Field(max_length=limits.MAX_BASE64_CHARS)]


class _Answer(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)
    data: Annotated[list[_Image], Field(max_length=limits.MAX_BATCH)]


class OpenAIDialect:
    """``/v1/images/generations`` with base64 answers."""

    name = "openai"
    capabilities = frozenset({"create", "batch"})

    def encode(self, plan: PublicPlan, call: Call, prompt: PublicPrompt, image: bytes | None) -> WireRequest:
        """See ``Dialect.encode``; a variation is refused."""
        if image is not None:
            raise EgressError("dialect 'openai' cannot vary an image")
        fields = {
            "model": plan.model,
            "prompt": prompt.text,
            "n": call.count,
            "size": f"{plan.width}x{plan.height}",
            "response_format": "b64_json",
        }
        return WireRequest("POST", GENERATIONS, json_body(fields))

    def decode(self, call: Call, body: bytes) -> list[bytes]:
        """See ``Dialect.decode``."""
        return received_images(call, [each.b64_json for each in parsed(_Answer, body).data])

    def hello(self) -> WireRequest:
        """List the models."""
        return WireRequest("GET", MODELS)

    def native_size(self, model: str, body: bytes) -> ModelSize | None:
        """Not told by this API."""
        return None
