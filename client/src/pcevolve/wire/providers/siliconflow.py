"""SiliconFlow's image API: images are sent as data URLs and returned as links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pcevolve.errors import ProviderReplyError
from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import Reply, encode_json, parse_answer, shift_seed
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest
from pcevolve.wire.providers.faults import Reason
from pcevolve_shared import images, wire

USER_INFO = "/v1/user/info"
_MOST = ABILITIES["siliconflow"].most
_LARGEST_SEED = 2**32 - 1
"""The API accepts larger seeds, but a plan's seeds have 32 bits."""


class _Link(Reply):
    url: Annotated[str, Field(min_length=1, max_length=4096)]


class _Answer(Reply):
    images: Annotated[list[_Link], Field(max_length=_MOST)]


class _Account(Reply):
    totalBalance: float  # noqa: N815 - the API's spelling


class _UserInfo(Reply):
    data: _Account


class SiliconFlowDialect(Dialect):
    """``/v1/images/generations``; it has no ``strength``, because its models choose the degree of variation."""

    abilities = ABILITIES["siliconflow"]
    links_images = True
    reasons: ClassVar[Mapping[str, Reason]] = {"30001": "credit"}

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Encode a call as JSON; an image is sent as a data URL."""
        fields: dict[str, Any] = {
            "model": plan.provider.model,
            "prompt": plan.prompt_of(call),
            "image_size": f"{plan.images.width}x{plan.images.height}",
            "batch_size": call.count,
            # For 0 the API draws its own seed, so that a repeated request would give other images.
            "seed": shift_seed(call.seed, _LARGEST_SEED),
            "num_inference_steps": plan.images.steps,
            "guidance_scale": plan.images.guidance,
        }
        if plan.images.negative_prompt:
            fields["negative_prompt"] = plan.images.negative_prompt
        if image is not None:
            fields["image"] = encode_data_url(image)
        return WireRequest("POST", wire.OPENAI_GENERATIONS, encode_json(fields))

    def links(self, call: Call, body: bytes) -> tuple[str, ...]:
        return tuple(each.url for each in parse_answer(_Answer, body).images[: call.count])

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Return the images behind the links (``ProviderReplyError`` as in ``Dialect.decode``)."""
        # All or none: a missing image would move the others to other seeds.
        if len(linked) != len(self.links(call, body)):
            raise ProviderReplyError("the images behind the API's links are missing")
        return list(linked)

    def balance_request(self) -> WireRequest:
        return WireRequest("GET", USER_INFO)

    def balance(self, body: bytes) -> float | None:
        return parse_answer(_UserInfo, body).data.totalBalance


def encode_data_url(image: bytes) -> str:
    """Encode an image as a data URL with its media type."""
    return f"data:{images.media_type_or_bytes(image)};base64,{images.to_base64(image)}"
