"""The native dialect: getimg-v1-style JSON with the ``n`` extension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, RootModel, model_validator

from pcevolve.errors import ProviderReplyError, UsageError
from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.modality import Advice, ModelSize
from pcevolve.public.parts import Count, Exact, Library, make_one_line, make_readable
from pcevolve.public.plan import PublicPlan
from pcevolve.public.requests import Guidance, Steps
from pcevolve.public.settings import Digest, Strength
from pcevolve.wire.providers.codec import (
    Reply,
    decode_images,
    encode_json,
    no_model,
    parse_answer,
    strength_of,
)
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest
from pcevolve.wire.providers.faults import Reason
from pcevolve_shared import images, limits, wire


class _Cost(Reply):
    cost: Annotated[float | None, Field(ge=0)] = None


class _Image(Reply):
    """Null if the image was withheld."""

    image: Annotated[str | None, Field(max_length=limits.MAX_BASE64_CHARS)]


class _Answer(Reply):
    images: Annotated[tuple[_Image, ...], Field(max_length=limits.MAX_BATCH)]

    @model_validator(mode="before")
    @classmethod
    def _as_batch(cls, answer: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Treat a single image without a list as a batch of one."""
        # getimg's own answers contain one image beside its cost; only our server makes batches.
        is_lone = isinstance(answer, dict) and not answer.get("images") and "image" in answer
        return {**answer, "images": [answer]} if is_lone else answer


class _Balance(Reply):
    balance: float | None = None


# Foreign text that goes on the card: one line, without characters that could control a terminal.
_Line = Annotated[wire.Name, AfterValidator(make_one_line)]
_Text = Annotated[str, Field(max_length=limits.MAX_LICENCE_CHARS), AfterValidator(make_readable)]


class _Licence(Reply):
    name: _Line
    images: Count


class _LicenceFile(Reply):
    name: _Line
    sha256: Digest
    text: _Text


class _Library(Reply):
    images: Count
    licences: Annotated[tuple[_Licence, ...], Field(max_length=limits.MAX_LICENCES)] = ()
    files: Annotated[
        tuple[_LicenceFile, ...], Field(max_length=limits.MAX_LICENCE_FILES, alias="licence_files")
    ] = ()


class _Recommended(Reply):
    steps: Steps
    guidance: Guidance
    strength_low: Strength
    strength_high: Strength


class _Model(Reply):
    id: wire.Name
    recommended: _Recommended | None = None
    domains: Annotated[tuple[wire.Name, ...], Field(max_length=limits.MAX_LIST)] = ()
    pipelines: Annotated[tuple[wire.Name, ...], Field(max_length=limits.MAX_LIST)] = ()
    base_resolution: wire.Resolution | None = None
    adapters: Annotated[tuple[wire.Name, ...], Field(max_length=limits.MAX_LIST)] = ()
    negative_prompts: bool = True
    strengths: bool = True
    library: _Library | None = None
    exact: Exact | None = None

    @property
    def writes_text(self) -> bool:
        """True if the model makes no images; a server may have models of both kinds."""
        # By both facts: a text model has no resolution, and an image model without one should be reported.
        return self.base_resolution is None and "chat" in self.pipelines


def _bare(value: object) -> object:
    """Return the list itself, which our own server wraps in an object as OpenAI does."""
    return value["data"] if isinstance(value, dict) and "data" in value else value


class _Models(RootModel[Annotated[list[_Model], BeforeValidator(_bare), Field(max_length=limits.MAX_LIST)]]):
    model_config = ConfigDict(hide_input_in_errors=True)


def _find_model(model: str, body: bytes) -> _Model | None:
    """Find a model in the list of models; None if it is missing (``ProviderReplyError`` for another form)."""
    return next((each for each in parse_answer(_Models, body).root if each.id == model), None)


class GetimgDialect(Dialect):
    """PCEvolve's own server, and getimg's v1 API with ``provider.batch`` 1, because that API has no ``n``."""

    abilities = ABILITIES["getimg"]
    reports_cost = True
    currency = "USD"
    reasons: ClassVar[Mapping[str, Reason]] = {"content_rejected": "content"}

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Encode a call as JSON: text-to-image, or image-to-image with an image."""
        settings = {
            "negative_prompt": plan.images.negative_prompt,
            "steps": plan.images.steps,
            "guidance": plan.images.guidance,
            "scheduler": plan.images.sampler,
        }
        fields: dict[str, Any] = {
            "model": plan.provider.model,
            "prompt": plan.prompt_of(call),
            # Left out if the plan has no such value, because null is not the same as an absent field.
            **{name: value for name, value in settings.items() if value is not None},
            "seed": call.seed,
            "output_format": "png",
            "response_format": "b64",
        }
        # getimg has no field ``n``; its users leave the batch at 1.
        if plan.provider.batch > 1:
            fields["n"] = call.count
        if image is None:
            # Only for text-to-image: a variation has the size of its source image.
            size = {"width": plan.images.width, "height": plan.images.height}
            return WireRequest("POST", wire.TEXT_TO_IMAGE, encode_json(fields | size))
        source = {"image": images.to_base64(image)} | strength_of(call)
        if plan.images.adapter is None:
            return WireRequest("POST", wire.IMAGE_TO_IMAGE, encode_json(fields | source))
        prompt = {"adapter": plan.images.adapter, "scale": plan.images.adapter_scale}
        return WireRequest("POST", wire.IP_ADAPTER, encode_json(fields | source | prompt))

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        """Return the base64 images of an answer, one or a batch; empty for a withheld one."""
        # A withheld image keeps its place as an empty one, so that the others keep their seeds.
        return decode_images([each.image or "" for each in parse_answer(_Answer, body).images])

    def native_size(self, model: str, body: bytes) -> ModelSize | None:
        """Return the model's base resolution from the list of models; see ``Dialect.native_size``."""
        known = {each.id: each for each in parse_answer(_Models, body).root if not each.writes_text}
        if model not in known:
            raise no_model(model, known)
        size = known[model].base_resolution
        # Without a resolution the plan would assume 512 pixels, and every later image would be scaled.
        if size is None:
            raise ProviderReplyError("the API's answer breaks the contract: the model has no base_resolution")
        return ModelSize(size.width, size.height)

    def require_adapter(self, model: str, adapter: str, body: bytes) -> None:
        """Look the adapter up in the list of models; see ``Dialect.require_adapter``."""
        listed = _find_model(model, body)
        known = listed.adapters if listed else ()
        if adapter not in known:
            has = (
                f"it has {', '.join(map(make_one_line, known))}"
                if known
                else "it has no IP-Adapter: leave provider.adapter out"
            )
            raise UsageError(f"the API's model has no IP-Adapter '{adapter}': {has}")

    def require_negative_prompts(self, model: str, body: bytes) -> None:
        """Look the model up in the list of models; see ``Dialect.require_negative_prompts``."""
        listed = _find_model(model, body)
        if listed is not None and not listed.negative_prompts:
            raise UsageError(
                "the API's model does not use negative prompts: leave provider.negative_prompt out"
            )

    def takes_strength(self, model: str, body: bytes) -> bool:
        """Look the model up in the list of models; see ``Dialect.takes_strength``."""
        listed = _find_model(model, body)
        # If a server does not describe the model, the dialect's capabilities apply.
        return listed is None or listed.strengths

    def advice(self, model: str, body: bytes) -> Advice | None:
        """Read the advice from the list of models; see ``Dialect.advice``."""
        listed = _find_model(model, body)
        advice = None if listed is None else listed.recommended
        if listed is None or advice is None:
            return None
        # A provider may state the two strengths in either order; a schedule goes down from the higher one.
        low, high = sorted((advice.strength_low, advice.strength_high))
        return Advice(advice.steps, advice.guidance, low, high, listed.domains)

    def library(self, model: str, body: bytes) -> Library | None:
        """Read the library's description from the list of models; see ``Dialect.library``.

        Texts are truncated and made printable.
        """
        listed = _find_model(model, body)
        library = None if listed is None else listed.library
        return None if library is None else Library(**library.model_dump())

    def exact(self, model: str, body: bytes) -> Exact | None:
        """Read the promise from the list of models; see ``Dialect.exact``."""
        listed = _find_model(model, body)
        return None if listed is None else listed.exact

    def balance_request(self) -> WireRequest:
        return WireRequest("GET", wire.BALANCE)

    def balance(self, body: bytes) -> float | None:
        return parse_answer(_Balance, body).balance

    def cost(self, body: bytes) -> float | None:
        return parse_answer(_Cost, body).cost
