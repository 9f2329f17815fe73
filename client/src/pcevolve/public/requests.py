"""Options of requests for images and texts."""

from __future__ import annotations

import re
import secrets
from typing import Annotated, Final, Generic

from pydantic import AfterValidator, BeforeValidator, Field

from pcevolve.public.config.declared import UNDECIDED, PlanField, Undecided
from pcevolve.public.config.options import Setting
from pcevolve.public.config.workflow import normalize
from pcevolve.public.settings import PUBLIC, PublicSeed, Section, require_one_line
from pcevolve.public.words import TEMPLATE

Model = Annotated[
    str, Field(min_length=1, max_length=200, description="Name of the model that the API should use."), PUBLIC
]
Prompt = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A prompt in the form in which it is sent."""


USUAL_STEPS, USUAL_GUIDANCE, USUAL_ADAPTER_SCALE = 50, 7.5, 0.5
"""Stable Diffusion's defaults, used if neither the user nor the API sets these values."""
USUAL_TOKENS, USUAL_TEMPERATURE = 128, 1.0
"""Defaults for a language model, used if the user sets no values."""
Guidance = Annotated[float, Field(ge=0, le=50)]
Steps = Annotated[int, Field(ge=1, le=150)]
Tokens = Annotated[int, Field(ge=1, le=4096)]
CHAT_FAMILIES: Final = {
    "standard": (),
    "reasoning": ("n=", "max_tokens=max_completion_tokens", "temperature=", "seed="),
    "single": ("n=",),
    "plain": ("n=", "seed="),
}
"""Families of chat APIs, and the rules by which their fields differ from the standard: missing or renamed fields."""
_CHAT_RULE: Final = re.compile(r"(n|max_tokens|temperature|seed)=[a-z_]{0,40}")


def _chat_fields(value: object) -> object:
    """Replace the names of families by their rules."""
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list | tuple):
        return value
    return tuple(rule for each in given for rule in CHAT_FAMILIES.get(str(each).strip(), (each,)))


def _clear_fields(rules: tuple[str, ...]) -> tuple[str, ...]:
    """Check that no two rules apply to the same field, and that no rule takes the name of another field."""
    if strange := [rule for rule in rules if not _CHAT_RULE.fullmatch(rule)]:
        raise ValueError(
            f"{strange[0][:40]!r} is not a rule: NAME= leaves a field out and NAME=OTHER renames it, where NAME is"
            f" n, max_tokens, temperature or seed; or write a family: {', '.join(CHAT_FAMILIES)}"
        )
    names, others = zip(*(rule.split("=") for rule in rules), strict=True) if rules else ((), ())
    taken = {"model", "messages", "n", "max_tokens", "temperature", "seed"}
    given = [each for each in others if each]
    if len({*names}) < len(names) or len({*given}) < len(given) or taken & {*given}:
        raise ValueError("each field has one rule, and a name that no other field has")
    return rules


ChatFields = Annotated[
    tuple[str, ...],
    BeforeValidator(_chat_fields),
    AfterValidator(_clear_fields),
    Field(
        max_length=4,
        description="Request fields of a chat API that differ from the standard: NAME= leaves a field "
        "out, and NAME=OTHER renames it. Or a family: reasoning (OpenAI's o-series, GPT-5), "
        "single (no n), plain (no n, no seed), standard.",
    ),
    Setting(public=True, needs="fields"),
]
Pixels = Annotated[int, Field(ge=8, le=4096)]
MOST_AT_ONCE, NEAR_AT_ONCE, FAR_AT_ONCE = 64, 16, 4
AtOnce = Annotated[
    int,
    Field(
        ge=1,
        le=MOST_AT_ONCE,
        description="Number of images that the concurrent requests of one round may ask for in all.",
    ),
    PUBLIC,
]
ImageHost = Annotated[str, Field(pattern=r"^[a-z0-9.-]{1,253}(:[0-9]{1,5})?$")]


OF_WORKFLOW: Final = (
    "File with a workflow that ComfyUI exported for its API. Its nodes must be titled prompt, seed, "
    "image and strength. The workflow becomes part of the plan."
)


def _is_workflow(text: str) -> str:
    """Refuse a workflow that is not in the plan's normal form."""
    if text and normalize(text) != text:
        raise ValueError("the workflow is spelled in another way than a plan's")
    return text


Stated = Annotated[str, Field(max_length=300), AfterValidator(require_one_line)]
"""A public statement by the owner about the provider; it is not verified."""


BareAddress = Annotated[str, Field(pattern=r"^https?://[^@\s]+$", max_length=500)]
"""An address without user name or password."""


class ProviderSettings(Section, Generic[Undecided]):
    """The API, and the settings of its requests."""

    api: Annotated[
        str, Field(description="Address of the image API."), PUBLIC, PlanField(kind=BareAddress)
    ] = "http://127.0.0.1:8000"
    dialect: Annotated[
        str,
        Field(
            description="The API's protocol: getimg (pcevolve-server), openai, a1111 ...; for texts, "
            "chat. An unknown name prints the full list."
        ),
        PUBLIC,
    ] = "getimg"
    model: Model = "bundled"
    answered_by: Annotated[
        Model | None,
        Field(description="Name of the model in the API's answers, if it differs from the requested name."),
        PUBLIC,
    ] = None
    prompt_template: Annotated[
        str, Field(max_length=1000, description="Template of the prompts, with {domain} and {label}."), PUBLIC
    ] = TEMPLATE
    batch: Annotated[int, Field(ge=1, le=64, description="Number of images per request."), PUBLIC] = 32
    seed: Annotated[PublicSeed, PlanField()] = Field(default_factory=lambda: secrets.randbelow(2**32))
    at_once: Annotated[
        AtOnce | Undecided,
        Field(
            description="Maximum number of images in concurrent requests. Default: twice provider.batch (at least "
            f"{NEAR_AT_ONCE}) for an API on this machine or at a private address, else {FAR_AT_ONCE}."
        ),
        PUBLIC,
        PlanField(1),
    ] = UNDECIDED
    image_hosts: Annotated[
        tuple[ImageHost, ...],
        Field(
            max_length=20, description="Hosts from which images may be fetched, for an API that sends links."
        ),
        PUBLIC,
    ] = ()
    workflow: Annotated[
        str,
        AfterValidator(_is_workflow),
        Field(description=OF_WORKFLOW, exclude_if=lambda value: not value),
        Setting(public=True, needs="workflow"),
    ] = ""
    operator: Annotated[
        Stated,
        Field(
            description="Who runs the API, for the card and the report. Never sent.",
            exclude_if=lambda value: not value,
        ),
        PUBLIC,
    ] = ""
    retention: Annotated[
        Stated,
        Field(
            description="What the provider stores and for how long, for the card and the report. Never sent.",
            exclude_if=lambda value: not value,
        ),
        PUBLIC,
    ] = ""


class ImageSettings(Section):
    """Settings of a model that makes images. A setting is None if it is unset; in a plan, also if requests omit it."""

    negative_prompt: Annotated[
        str,
        Field(max_length=1000, description="Negative prompt: what the images should not show."),
        Setting(public=True, needs="negative_prompt"),
    ] = ""
    guidance: Annotated[
        Guidance | None,
        Field(
            description=f"Guidance scale. Default: the API's recommendation, or {USUAL_GUIDANCE:g}.",
        ),
        Setting(public=True, needs="guidance"),
    ] = None
    steps: Annotated[
        Steps | None,
        Field(
            description=f"Number of denoising steps. Default: the API's recommendation, or {USUAL_STEPS}.",
        ),
        Setting(public=True, needs="steps"),
    ] = None
    sampler: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=100,
            description="Sampler (scheduler), as the API names it.",
        ),
        Setting(public=True, needs="sampler"),
    ] = None
    adapter: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            description="IP-Adapter to use. Variations then also get the prototype as an image prompt.",
        ),
        Setting(public=True, needs="adapter"),
    ] = None
    adapter_scale: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description=f"Weight of the IP-Adapter. Default: {USUAL_ADAPTER_SCALE:g}.",
        ),
        PUBLIC,
    ] = None


class TextSettings(Section, Generic[Undecided]):
    """Settings of a language model; None if unset."""

    tokens: Annotated[
        Tokens | Undecided,
        Field(description=f"Maximum number of tokens per text. Default: {USUAL_TOKENS}."),
        Setting(public=True, needs="tokens"),
        PlanField(),
    ] = UNDECIDED
    temperature: Annotated[
        float | None,
        Field(
            ge=0,
            le=2,
            description=f"Temperature of the language model. Default: {USUAL_TEMPERATURE:g}.",
        ),
        Setting(public=True, needs="tokens"),
    ] = None
    fields: Annotated[ChatFields | Undecided, PlanField(())] = UNDECIDED


_REASONING: Final = re.compile(r"^(?:openai/)?(?:o[1-9](?:-|$)|gpt-5(?!.*chat))")
"""OpenAI models that accept no temperature."""


def choose_fields(given: tuple[str, ...] | None, model: str) -> tuple[str, ...]:
    """Return the rules by which a chat API's fields differ: the user's, or those implied by the model's name."""
    if given is not None:
        return given
    return CHAT_FAMILIES["reasoning" if _REASONING.search(model) else "standard"]
