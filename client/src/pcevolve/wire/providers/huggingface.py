"""Hugging Face's inference endpoints for text-to-image: a JSON request, answered with the bytes of one image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pcevolve.errors import ProviderReplyError
from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import describe_other, encode_json
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest
from pcevolve_shared import images


class HuggingFaceDialect(Dialect):
    """One image per request. An endpoint serves one model and one task, so its address determines both."""

    abilities = ABILITIES["huggingface"]
    currency = "USD"
    unknown = "--api must be the endpoint itself. If it has no /health, give --set provider.greeting=false"

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Encode a call; this API has no variations of images."""
        parameters: dict[str, Any] = {
            "guidance_scale": plan.images.guidance,
            "num_inference_steps": plan.images.steps,
            "width": plan.images.width,
            "height": plan.images.height,
            "seed": call.seed,
        }
        if plan.images.negative_prompt:
            parameters["negative_prompt"] = plan.images.negative_prompt
        fields = {"inputs": plan.prompt_of(call), "parameters": parameters}
        # PNG, because lossy copies of an image would count as different candidates.
        return WireRequest("POST", "/", encode_json(fields), accept="image/png")

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Return the answer's body, which is the image."""
        # By the bytes: an endpoint for another task answers with JSON and the same status.
        if not images.media_type_or_bytes(body).startswith("image/"):
            raise ProviderReplyError(
                "the API's answer is not an image: is it an endpoint for "
                f"text-to-image?{describe_other(body)}"
            )
        return [body]

    def hello(self) -> WireRequest:
        """Request the endpoint's state, which is free; a sleeping endpoint answers 503 until it is awake."""
        return WireRequest("GET", "/health")
