"""Stability AI's v2beta API for Stable Diffusion 3 and 3.5: requests are forms, and answers are JSON with one image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Annotated, ClassVar, Final

from pydantic import Field

from pcevolve.errors import ProviderReplyError, UsageError, printable
from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.modality import ModelSize
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import Reply, decode_images, encode_form, parse_answer, shift_seed
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest
from pcevolve.wire.providers.faults import Reason
from pcevolve_shared import limits

GENERATE = "/v2beta/stable-image/generate/sd3"
BALANCE = "/v1/user/balance"
_FILTERED: Final = "CONTENT_FILTERED"
_LONGEST_REASON: Final = 40
# The API's own limit. There 0 means any seed, so seeds are shifted to 1 and above.
_LARGEST_SEED: Final = 2**32 - 2
# The endpoint takes a ratio and not a size, so other sizes cannot be requested.
_RATIOS: Final = {"16:9", "1:1", "21:9", "2:3", "3:2", "4:5", "5:4", "9:16", "9:21"}


class _Answer(Reply):
    image: Annotated[str, Field(max_length=limits.MAX_BASE64_CHARS)]
    finish_reason: str = "SUCCESS"


class _Balance(Reply):
    credits: float


class StabilityDialect(Dialect):
    """One image per request; the model determines steps and number of pixels (about one million)."""

    abilities = ABILITIES["stability"]
    currency = "credits"
    reasons: ClassVar[Mapping[str, Reason]] = {"content_moderation": "content"}

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Encode a call as a form, with an image as its last part."""
        fields = {
            "model": plan.provider.model,
            "prompt": plan.prompt_of(call),
            "seed": str(shift_seed(call.seed, _LARGEST_SEED)),
            "cfg_scale": str(plan.images.guidance),
            "output_format": "png",
        }
        if plan.images.negative_prompt:
            fields["negative_prompt"] = plan.images.negative_prompt
        if image is None:
            fields |= {"mode": "text-to-image", "aspect_ratio": _ratio(plan)}
        else:
            # No ratio, because a variation has the size of its image.
            fields |= {"mode": "image-to-image", "strength": str(call.strength)}
        kind, body = encode_form(fields, image)
        return WireRequest("POST", GENERATE, body, kind)

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Return the base64 image of an answer; empty if moderation withheld it."""
        answer = parse_answer(_Answer, body)
        if answer.finish_reason not in ("SUCCESS", _FILTERED):
            ended = printable(answer.finish_reason)[:_LONGEST_REASON]
            raise ProviderReplyError(
                f"the API stopped making the image ({ended}): continue with --resume RUN"
            )
        if answer.finish_reason == _FILTERED:
            # The image is then blurred. It is no error, because with the plan's seed a resumed run would be
            # refused for good.
            return [b""]
        return decode_images([answer.image])

    def hello(self) -> WireRequest:
        """Request the balance: the cheapest question that needs the key."""
        return WireRequest("GET", BALANCE)

    def native_size(self, model: str, body: bytes) -> ModelSize:
        """Return the size of this endpoint's models: about one million pixels."""
        # Stated here, because the API does not report it; at other ratios it keeps the number of pixels.
        return ModelSize(1024, 1024)

    def balance_request(self) -> WireRequest:
        return WireRequest("GET", BALANCE)

    def balance(self, body: bytes) -> float:
        return parse_answer(_Balance, body).credits


def _ratio(plan: PublicPlan) -> str:
    # Reduced, so that 1536 x 1024 and 768 x 512 are the same ratio.
    by = gcd(plan.images.width, plan.images.height)
    ratio = f"{plan.images.width // by}:{plan.images.height // by}"
    if ratio not in _RATIOS:
        raise UsageError(
            f"dialect 'stability' cannot make images of {plan.images.width} x {plan.images.height} pixels"
        )
    return ratio
