"""OpenAI's Images API: with the extension fields of Stable Diffusion servers, and as OpenAI itself defines it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Self, TypeVar

from pydantic import Field, model_validator

from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.modality import Advice, ModelSize
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import (
    Reply,
    decode_images,
    encode_form,
    encode_json,
    model_named,
    parse_answer,
    strength_of,
)
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest
from pcevolve.wire.providers.getimg import GetimgDialect
from pcevolve_shared import limits, wire

Found = TypeVar("Found")


REVISED: Final = (
    "a prompt that the API had rewritten (revised_prompt): classes may mix, so a model that does not "
    "rewrite prompts is a better choice"
)


class _Image(Reply):
    """An image as base64 or as a link; some services answer with links even if base64 was requested."""

    b64_json: Annotated[str | None, Field(max_length=limits.MAX_BASE64_CHARS)] = None
    url: Annotated[str | None, Field(max_length=limits.MAX_BASE64_CHARS)] = None
    revised_prompt: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        """Refuse an image in a field with an unknown name; null means that the image was withheld."""
        # By presence, not by value: a withheld image is null, and an unknown API uses another name.
        if not self.model_fields_set & {"b64_json", "url"}:
            raise ValueError("it has neither b64_json nor url")
        return self

    @property
    def text(self) -> str:
        """The image in base64, if the answer contains it; empty for a link."""
        # Some servers put the image itself into the link.
        inside = self.url if self.url is not None and self.url.startswith("data:") else ""
        return self.b64_json or inside

    @property
    def link(self) -> str:
        """The link to the image, if the answer does not contain it; else empty."""
        return "" if self.text else self.url or ""


class _Answer(Reply):
    data: Annotated[list[_Image], Field(max_length=limits.MAX_BATCH)]


class OpenAIDialect(Dialect):
    """Generations and edits with Stable Diffusion's extension fields, as PCEvolve's own server supports them."""

    abilities = ABILITIES["openai"]

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Encode a call: a JSON generation, or a form for an edit with an image."""
        fields: dict[str, Any] = {
            "model": plan.provider.model,
            "prompt": plan.prompt_of(call),
            "n": call.count,
            "size": f"{plan.images.width}x{plan.images.height}",
            **self._more(plan, call),
        }
        if image is None:
            return WireRequest("POST", wire.OPENAI_GENERATIONS, encode_json(fields))
        # Edits use a form, as at OpenAI's endpoint; the fields are the same.
        kind, body = encode_form({name: str(value) for name, value in fields.items()}, image)
        return WireRequest("POST", wire.OPENAI_EDITS, body, kind)

    def _more(self, plan: PublicPlan, call: Call) -> dict[str, Any]:
        """Return the fields that Stable Diffusion servers support beyond OpenAI's own."""
        fields: dict[str, Any] = {
            "response_format": "b64_json",
            "negative_prompt": plan.images.negative_prompt,
            "num_inference_steps": plan.images.steps,
            "guidance_scale": plan.images.guidance,
            "seed": call.seed,
        }
        return fields | strength_of(call)

    def links(self, call: Call, body: bytes) -> tuple[str, ...]:
        """Return the links to images that the answer does not contain."""
        return tuple(each.link for each in parse_answer(_Answer, body).data[: call.count] if each.link)

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Return the images of an answer, from base64 or links; empty for a withheld one."""
        found = parse_answer(_Answer, body).data[: call.count]
        made = decode_images(each.text for each in found)
        pointed = [place for place, each in enumerate(found) if each.link]
        # Without this check a missing link would move an image into another image's place.
        if len(linked) == len(pointed):
            for place, image in zip(pointed, linked, strict=True):
                made[place] = image
        return made

    def answered_by(self, body: bytes) -> str | None:
        return model_named(body)

    def remarks(self, prompt: str, body: bytes) -> frozenset[str]:
        """Report prompts that the API rewrote, as OpenAI does for DALL-E 3."""
        revised = (each.revised_prompt for each in parse_answer(_Answer, body).data)
        return frozenset(
            # One rewritten prompt is enough for a warning; blanks at the ends do not count.
            {REVISED} if any(each and each.strip() != prompt.strip() for each in revised) else ()
        )

    def native_size(self, model: str, body: bytes) -> ModelSize | None:
        """Return the model's own size, if the server is PCEvolve's; other servers do not report it."""
        return _if_ours(lambda: GetimgDialect().native_size(model, body), None)

    def advice(self, model: str, body: bytes) -> Advice | None:
        """Return recommended settings, if the server is PCEvolve's; others give none."""
        return _if_ours(lambda: GetimgDialect().advice(model, body), None)

    def takes_strength(self, model: str, body: bytes) -> bool:
        """True if PCEvolve's server reports a strength for the model; for other servers, if the dialect has one."""
        return "strength" in self.abilities.capabilities and _if_ours(
            lambda: GetimgDialect().takes_strength(model, body), True
        )


def _if_ours(read: Callable[[], Found], otherwise: Found) -> Found:
    """Read a list of models in PCEvolve's format; other servers' lists differ."""
    try:
        return read()
    # Both: another server's list has another form, or lists names without sizes.
    except (ProviderReplyError, UsageError):
        return otherwise


class PlainOpenAIDialect(OpenAIDialect):
    """OpenAI's own service, which refuses unknown fields and chooses the degree of variations itself."""

    abilities = ABILITIES["openai-plain"]
    currency = "USD"

    def _more(self, plan: PublicPlan, call: Call) -> dict[str, Any]:
        """Return the format: the GPT image models always answer in base64 and refuse ``response_format``."""
        # PNG, because lossy copies of an image would count as different candidates.
        return {"output_format": "png"}
