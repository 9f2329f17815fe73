"""The native dialect: getimg-v1-style JSON with the ``n`` extension (design.md, section 5)."""

from __future__ import annotations

from typing import Any

from pcevolve_shared import images, wire

from ..errors import UsageError
from ..plan import Call, PublicPlan
from ..release import PublicPrompt
from .dialect import ModelSize, WireRequest, json_body, parsed, received_images


class GetimgDialect:
    """PCEvolve's own server, and getimg's v1 API for single images."""

    name = "getimg"
    capabilities = frozenset({"create", "vary", "strength", "seed", "steps", "negative_prompt", "batch"})

    def encode(self, plan: PublicPlan, call: Call, prompt: PublicPrompt, image: bytes | None) -> WireRequest:
        """See ``Dialect.encode``."""
        fields: dict[str, Any] = {
            "model": plan.model,
            "prompt": prompt.text,
            "negative_prompt": prompt.negative,
            "steps": plan.steps,
            "guidance": plan.guidance,
            "seed": call.seed,
            "output_format": "png",
            "response_format": "b64",
            "n": call.count,
        }
        if image is None:
            size = {"width": plan.width, "height": plan.height}
            return WireRequest("POST", wire.TEXT_TO_IMAGE, json_body(fields | size))
        source = {"image": images.to_base64(image), "strength": call.strength}
        return WireRequest("POST", wire.IMAGE_TO_IMAGE, json_body(fields | source))

    def decode(self, call: Call, body: bytes) -> list[bytes]:
        """See ``Dialect.decode``."""
        if call.count == 1:
            return received_images(call, [parsed(wire.ImageResponse, body).image])
        return received_images(call, [each.image for each in parsed(wire.BatchResponse, body).images])

    def hello(self) -> WireRequest:
        """List the models."""
        return WireRequest("GET", wire.MODELS)

    def native_size(self, model: str, body: bytes) -> ModelSize | None:
        """See ``Dialect.native_size``."""
        known = {each.id: each for each in parsed(wire.ModelList, body).root}
        if model not in known:
            offers = ", ".join(sorted(known)[:10]) or "none at all"
            raise UsageError(f"the API has no model '{model}': it offers {offers}; choose one with --model")
        size = known[model].base_resolution
        return ModelSize(size.width, size.height)
