"""AUTOMATIC1111's Stable Diffusion web UI, started with ``--api``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, RootModel, ValidationError

from pcevolve.public.answers import strip_mark
from pcevolve.public.calls import Call
from pcevolve.public.dialects import ABILITIES
from pcevolve.public.modality import ModelSize
from pcevolve.public.plan import PublicPlan
from pcevolve.wire.providers.codec import Reply, decode_images, encode_json, no_model, parse_answer
from pcevolve.wire.providers.dialect import Dialect, Output, WireRequest
from pcevolve_shared import images, limits

TEXT_TO_IMAGE = "/sdapi/v1/txt2img"
IMAGE_TO_IMAGE = "/sdapi/v1/img2img"
MODELS = "/sdapi/v1/sd-models"
USUAL_SAMPLER: Final = "Euler"
"""The API's own default; newer versions and forks may have another."""
_SYNTAX: Final = re.compile(
    r"(?P<mark>[\\()\[\]])|(?P<word>\b(?:AND|BREAK)\b)|(?P<network><(?=\w+:))|(?P<comment>#|/(?=[/*])|(?<=\*)/)"
)
"""Syntax of emphasis and schedules; composition; extra networks; in forks, comments with ``//`` and ``/*``."""
_WEIGHT: Final = re.compile(r":\s*[-+]?[\d.]+\s*$")
"""A weight at the end of a prompt."""


def escape(words: str) -> str:
    """Escape words that contain this API's syntax for weights, schedules, composition and comments."""
    return _SYNTAX.sub(_undo, words)


def _undo(found: re.Match[str]) -> str:
    if found["mark"]:
        return f"\\{found[0]}"
    if found["word"]:
        # In lower case, AND and BREAK are plain words; there is no escape for them.
        return found[0].lower()
    # A blank after the bracket ends the syntax of an extra network. Comment signs have no escape, so they
    # become blanks.
    return "< " if found["network"] else " "


def _in_syntax(plan: PublicPlan, call: Call) -> str:
    """Return a call's prompt with domain and label escaped; other parts may be intended as syntax."""
    prompt = plan.prompt_of(call)
    # The longest first, because a label inside the domain words must not be escaped separately.
    words = sorted(filter(None, {plan.data.domain, call.label}), key=len, reverse=True)
    whole = re.sub("|".join(map(re.escape, words)), lambda found: escape(found[0]), prompt)
    # "stage:2" at the end of a prompt is parsed as a weight; a comma after it prevents that.
    ends = any(prompt.rstrip().endswith(each.rstrip()) for each in words)
    return f"{whole}," if ends and _WEIGHT.search(whole) else whole


class _Answer(Reply):
    images: Annotated[
        list[Annotated[str, Field(max_length=limits.MAX_BASE64_CHARS)]], Field(max_length=limits.MAX_BATCH)
    ]


class _InfoText(Reply):
    info: str = ""


class _Info(Reply):
    sd_model_name: str | None = None
    sd_model_hash: str | None = None


class _Checkpoint(Reply):
    model_config = ConfigDict(protected_namespaces=())
    title: Annotated[str, Field(max_length=limits.MAX_NAME_CHARS)]
    model_name: Annotated[str, Field(max_length=limits.MAX_NAME_CHARS)]


class _Checkpoints(RootModel[Annotated[list[_Checkpoint], Field(max_length=limits.MAX_LIST)]]):
    model_config = ConfigDict(hide_input_in_errors=True)


class A1111Dialect(Dialect):
    """``txt2img`` and ``img2img``; image k of a batch has the call's seed plus k, as in the native dialect.

    The web UI's ``--api-auth`` is HTTP Basic authentication, with ``user:password`` as the key.
    """

    abilities = ABILITIES["a1111"]
    reports_cost = True
    unknown = (
        "check --api, and start the web UI with its own option --api: without this option, the web UI "
        "has no API"
    )

    def encode(self, plan: PublicPlan, call: Call, image: bytes | None) -> WireRequest:
        """Encode a call as JSON for ``txt2img``, or with an image for ``img2img``."""
        fields: dict[str, Any] = {
            "prompt": _in_syntax(plan, call),
            "negative_prompt": escape(plan.images.negative_prompt),
            "sampler_name": plan.images.sampler or USUAL_SAMPLER,
            "seed": call.seed,
            "steps": plan.images.steps,
            "cfg_scale": plan.images.guidance,
            "width": plan.images.width,
            "height": plan.images.height,
            "batch_size": call.count,
            # One batch of ``count`` images; several batches would repeat the request inside the server.
            "n_iter": 1,
            # The images belong to a private run, so no copy should stay on the server's disk.
            "save_images": False,
            # Set per request, so that the server's checkpoint does not change for everybody.
            "override_settings": {"sd_model_checkpoint": plan.provider.model},
        }
        if image is None:
            return WireRequest("POST", TEXT_TO_IMAGE, encode_json(fields))
        source = {"init_images": [images.to_base64(image)], "denoising_strength": call.strength}
        return WireRequest("POST", IMAGE_TO_IMAGE, encode_json(fields | source))

    def decode(self, call: Call, body: bytes, linked: Sequence[Output] = ()) -> list[Output]:
        return decode_images(parse_answer(_Answer, body).images)

    def answered_by(self, body: bytes) -> str | None:
        """Return the checkpoint in the images' generation parameters, with the start of its digest."""
        try:
            info = _Info.model_validate_json(_InfoText.model_validate_json(strip_mark(body)).info)
        except ValidationError:
            return None
        # The same form as in the web UI's list of checkpoints, with which --model is compared.
        digest = f" [{info.sd_model_hash}]" if info.sd_model_name and info.sd_model_hash else ""
        return f"{info.sd_model_name}{digest}" if info.sd_model_name else None

    def hello(self) -> WireRequest:
        """List the checkpoints."""
        return WireRequest("GET", MODELS)

    def native_size(self, model: str, body: bytes) -> ModelSize | None:
        """Check only that the model exists, because the web UI does not report a checkpoint's size."""
        known = parse_answer(_Checkpoints, body).root
        # Either name: users copy the title with its digest, scripts use the bare name.
        if not any(model in {each.title, each.model_name} for each in known):
            raise no_model(model, (each.model_name for each in known))
        return None

    def cost(self, body: bytes) -> float:
        """Return 0, because the API is self-hosted."""
        # Zero, not None: None would mean an unknown price, and --max-cost would refuse the run.
        return 0.0
