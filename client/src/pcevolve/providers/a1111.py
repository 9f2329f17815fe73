"""AUTOMATIC1111's Stable Diffusion web UI, started with ``--api``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from pcevolve.providers.dialect import (
    Dialect,
    ModelSize,
    WireRequest,
    json_body,
    no_model,
    parsed,
    received_images,
)
from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
from pcevolve_shared import images, limits

TEXT_TO_IMAGE = "/sdapi/v1/txt2img"
IMAGE_TO_IMAGE = "/sdapi/v1/img2img"
MODELS = "/sdapi/v1/sd-models"


class _Answer(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)
    images: Annotated[
        list[Annotated[str, Field(max_length=limits.MAX_BASE64_CHARS)]], Field(max_length=limits.MAX_BATCH)
    ]


class _Checkpoint(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True, protected_namespaces=())
    title: Annotated[str, Field(max_length=limits.MAX_NAME_CHARS)]
    model_name: Annotated[str, Field(max_length=limits.MAX_NAME_CHARS)]


class _Checkpoints(RootModel[Annotated[list[_Checkpoint], Field(max_length=limits.MAX_LIST)]]):
    model_config = ConfigDict(hide_input_in_errors=True)


class A1111Dialect(Dialect):
    """``txt2img`` and ``img2img``; image k of a batch takes seed + k, as in the native dialect.

    ``--api-auth`` of the web UI is HTTP Basic authentication: the key is ``user:password``.
    """

    name = "a1111"
    capabilities = frozenset(
        {"create", "vary", "strength", "seed", "steps", "guidance", "negative_prompt", "size", "batch"}
    )
    scheme = "Basic"
    most = 8
    reports_cost = True

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Spell a call as JSON for ``txt2img``, or for ``img2img`` where there is an image."""
        fields: dict[str, Any] = {
            "prompt": plan.prompt_of(call),
            "negative_prompt": plan.images.negative_prompt,
            "seed": call.seed,
            "steps": plan.images.steps,
            "cfg_scale": plan.images.guidance,
            "width": plan.images.width,
            "height": plan.images.height,
            "batch_size": call.count,
            "n_iter": 1,
            "save_images": False,
            "override_settings": {"sd_model_checkpoint": plan.model},
        }
        if image is None:
            return WireRequest("POST", TEXT_TO_IMAGE, json_body(fields))
        source = {"init_images": [images.to_base64(image)], "denoising_strength": call.strength}
        return WireRequest("POST", IMAGE_TO_IMAGE, json_body(fields | source))

    def decode(self, call: Call, body: bytes, linked: Sequence[bytes] = ()) -> list[bytes]:
        """The base64 images of an answer."""
        return received_images(call, parsed(_Answer, body).images)

    def hello(self) -> WireRequest:
        """List the checkpoints."""
        return WireRequest("GET", MODELS)

    def native_size(self, model: str, body: bytes) -> ModelSize | None:
        """Only whether it is there: the web UI does not tell a checkpoint's size."""
        known = parsed(_Checkpoints, body).root
        if not any(model in {each.title, each.model_name} for each in known):
            raise no_model(model, (each.model_name for each in known))
        return None

    def cost(self, body: bytes) -> float:
        """A machine of one's own sends no bills."""
        return 0.0
