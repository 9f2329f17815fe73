"""The JSON that crosses the trust boundary, in the style of getimg's v1 API; no I/O.

Each side validates what it receives with these models, because a client or a server may be hostile. So they
are frozen, with no unknown fields, no coercion between types, no NaN or infinity, and a bound on every
length. Parse with ``model_validate_json``: strict mode reads a JSON list as a tuple only there.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pcevolve_shared import limits

TEXT_TO_IMAGE = "/v1/stable-diffusion/text-to-image"
IMAGE_TO_IMAGE = "/v1/stable-diffusion/image-to-image"
IP_ADAPTER = "/v1/stable-diffusion/ip-adapter"
MODELS = "/v1/models"
BALANCE = "/v1/account/balance"
OPENAI_GENERATIONS = "/v1/images/generations"
OPENAI_EDITS = "/v1/images/edits"
CHAT = "/v1/chat/completions"
HEALTH = "/healthz"
READY = "/readyz"
METRICS = "/metrics"

REQUEST_ID_HEADER = "X-Request-Id"
REQUEST_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

OutputFormat = Literal["png", "jpeg", "webp"]
Pipeline = Literal["text-to-image", "image-to-image", "ip-adapter", "chat"]
ErrorType = Literal["invalid_request_error", "authentication_error", "rate_limit_error", "server_error"]


def _whole(value: object) -> object:
    """Turn 28.0 into 28: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
"""Put it after the bounds of an integer, so that the schema keeps them."""
Name = Annotated[str, Field(min_length=1, max_length=limits.MAX_NAME_CHARS)]
Prompt = Annotated[str, Field(max_length=limits.MAX_PROMPT_CHARS)]
Seed = Annotated[int, Field(ge=0, le=limits.MAX_SEED), WHOLE]
Size = Annotated[int, Field(ge=limits.MIN_SIZE, le=limits.MAX_SIZE, multiple_of=limits.SIZE_STEP), WHOLE]
Side = Annotated[int, Field(ge=1, le=limits.MAX_SIDE), WHOLE]
Fraction = Annotated[float, Field(ge=0, le=1)]
Base64 = Annotated[str, Field(min_length=4, max_length=limits.MAX_BASE64_CHARS)]
Cost = Annotated[float, Field(ge=0)]


class WireModel(BaseModel):
    """The base of every message: immutable and strict, without unknown fields, NaN and infinity."""

    # ``model`` and ``model_*`` are the API's own words; hide_input_in_errors keeps images out of logs.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        protected_namespaces=(),
        hide_input_in_errors=True,
    )


class GenerationRequest(WireModel):
    """The fields of every endpoint that generates images."""

    model: Annotated[Name | None, Field(description="Absent: the one that the server has.")] = None
    prompt: Prompt
    negative_prompt: Prompt = ""
    steps: Annotated[int, Field(ge=1, le=limits.MAX_STEPS), WHOLE] = 50
    guidance: Annotated[float, Field(ge=0, le=limits.MAX_GUIDANCE)] = 7.5
    seed: Annotated[Seed | None, Field(description="Absent: the server draws one and reports it.")] = None
    scheduler: Annotated[
        Name | None, Field(description="Absent: that which the model is best asked with, or its own.")
    ] = None
    output_format: OutputFormat = "png"
    response_format: Literal["b64"] = "b64"
    n: Annotated[
        int,
        Field(ge=1, le=limits.MAX_BATCH, description="Extension: image k takes (seed + k) mod 2**32."),
        WHOLE,
    ] = 1


class TextToImageRequest(GenerationRequest):
    """``POST`` :data:`TEXT_TO_IMAGE`."""

    width: Annotated[Size, Field(description="Absent from the body: the model's own base width.")] = 512
    height: Annotated[Size, Field(description="Absent from the body: the model's own base height.")] = 512


class ImageToImageRequest(GenerationRequest):
    """``POST`` :data:`IMAGE_TO_IMAGE`; the answer has the size of ``image``."""

    image: Annotated[Base64, Field(repr=False, description="Bare base64 of a PNG, JPEG or WebP.")]
    strength: Annotated[
        Fraction,
        Field(description="0 returns the input, 1 ignores it; refused by a model that takes none."),
    ] = 0.5


class IpAdapterRequest(ImageToImageRequest):
    """``POST`` :data:`IP_ADAPTER`; ``image`` also conditions through the adapter."""

    adapter: Name
    scale: Annotated[Fraction | None, Field(description="Absent: the server's own.")] = None
    strength: Fraction = 1.0


_WITHHELD = "Null: the safety checker refused it; where it refused all, the answer is an error."


class GeneratedImage(WireModel):
    """One image of a batch."""

    image: Annotated[Base64 | None, Field(repr=False, description=_WITHHELD)]
    seed: Seed


class ImageResponse(WireModel):
    """The answer to a request with ``n == 1``; ``cost`` in the account's currency."""

    image: Annotated[Base64, Field(repr=False)]
    seed: Seed
    cost: Cost


class BatchResponse(WireModel):
    """The answer to a request with ``n > 1``; in the order of the seeds."""

    images: Annotated[tuple[GeneratedImage, ...], Field(min_length=1, max_length=limits.MAX_BATCH)]
    cost: Cost


class Resolution(WireModel):
    """A size in pixels."""

    width: Side
    height: Side


class LicenceCount(WireModel):
    """A licence and how many images are under it."""

    name: Name
    images: Annotated[int, Field(ge=1)]


class LicenceFile(WireModel):
    """A licence, notice or list of sources; ``text`` is its beginning, ``sha256`` that of all of it."""

    name: Name
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    text: Annotated[str, Field(max_length=limits.MAX_LICENCE_CHARS)]


class LibraryInfo(WireModel):
    """The description of a model that generates nothing: its answers are real public images of a collection."""

    images: Annotated[int, Field(ge=1)]
    licences: Annotated[tuple[LicenceCount, ...], Field(max_length=limits.MAX_LICENCES)] = ()
    licence_files: Annotated[tuple[LicenceFile, ...], Field(max_length=limits.MAX_LICENCE_FILES)] = ()


def _absent(value: object) -> bool:
    """True if an optional field is None, and so left out as older servers do."""
    return value is None


def _is_empty(value: object) -> bool:
    return value == ()


def _usual(value: object) -> bool:
    """True if a field has the value that older servers imply by leaving it out."""
    return value is True


class Recommended(WireModel):
    """Recommended settings of a model; a client may ask otherwise."""

    steps: Annotated[int, Field(ge=1, le=limits.MAX_STEPS)]
    guidance: Annotated[float, Field(ge=0, le=limits.MAX_GUIDANCE)]
    strength_low: Annotated[float, Field(gt=0, le=1, description="Below it a variation hardly differs.")]
    strength_high: Annotated[
        float, Field(gt=0, le=1, description="Above it a variation keeps hardly anything.")
    ]
    scheduler: Annotated[
        Name | None,
        Field(
            description="What a request gets that names none; absent: what the model brought along.",
            exclude_if=_absent,
        ),
    ] = None


Exactness = Literal["shared", "alone", "merged", "no"]


class ModelInfo(WireModel):
    """A model's abilities, as far as a client has to know before it asks.

    ``object``, ``created`` and ``owned_by`` are there for clients of OpenAI's API, which ask for them.
    """

    id: Name
    object: Literal["model"] = "model"
    created: Annotated[int, Field(ge=0, description="Not known: 0.")] = 0
    owned_by: Name = "pcevolve"
    name: Name
    family: Name
    pipelines: Annotated[tuple[Pipeline, ...], Field(max_length=limits.MAX_LIST)]
    base_resolution: Annotated[
        Resolution | None, Field(description="Absent for a model that writes text.", exclude_if=_absent)
    ] = None
    size_multiple: Annotated[Side, Field(description="Width and height must be multiples of it.")] = 8
    schedulers: Annotated[tuple[Name, ...], Field(max_length=limits.MAX_LIST)] = ()
    adapters: Annotated[tuple[Name, ...], Field(max_length=limits.MAX_LIST)] = ()
    max_images: Annotated[int, Field(ge=1, le=limits.MAX_BATCH, description="Largest n.")] = 1
    batch_pixels: Annotated[
        int | None,
        Field(ge=1, description="Of all images that run together; absent for texts.", exclude_if=_absent),
    ] = None
    max_pixels: Annotated[
        int | None,
        Field(
            ge=1,
            description="Of one image, for which the device's memory suffices; absent: not measured.",
            exclude_if=_absent,
        ),
    ] = None
    exact: Annotated[
        Exactness | None,
        Field(
            description="What the same request gets again. shared: the same bytes, whoever shares its run; alone: the"
            " same bytes, because it shares none; merged, no: the same up to rounding. Absent: not said.",
            exclude_if=_absent,
        ),
    ] = None
    negative_prompts: Annotated[
        bool,
        Field(description="Absent where one may be given.", exclude_if=_usual),
    ] = True
    strengths: Annotated[
        bool,
        Field(description="False: variations are to a degree of the model's own.", exclude_if=_usual),
    ] = True
    domains: Annotated[
        tuple[Name, ...],
        Field(
            max_length=limits.MAX_LIST,
            description="What it draws, in words; it draws nothing else. Absent where nothing is known.",
            exclude_if=_is_empty,
        ),
    ] = ()
    recommended: Annotated[
        Recommended | None,
        Field(
            description="Absent where nothing is known.",
            exclude_if=_absent,
        ),
    ] = None
    library: Annotated[
        LibraryInfo | None,
        Field(
            description="Absent for a model that generates its images.",
            exclude_if=_absent,
        ),
    ] = None

    @property
    def size(self) -> Resolution:
        """The base resolution of a model that makes images.

        Raises:
            ValueError: It writes text.
        """
        if self.base_resolution is None:
            raise ValueError(f"{self.id} makes no images")
        return self.base_resolution


class ModelList(WireModel):
    """``GET`` :data:`MODELS`, as clients of OpenAI's API read it; getimg's own answer is the bare list."""

    object: Literal["list"] = "list"
    data: Annotated[tuple[ModelInfo, ...], Field(max_length=limits.MAX_LIST)]


class BalanceResponse(WireModel):
    """``GET`` :data:`BALANCE`; ``None`` for a server that does not bill."""

    balance: Annotated[float | None, Field(description="Absent or null: not billed.")] = None
    spent: Cost = 0.0
    images: Annotated[int, Field(ge=0, description="Images generated since the server started.")] = 0


class ErrorBody(WireModel):
    """An error, for a program (``type``, ``code``) and for a person (``message``)."""

    type: ErrorType
    code: Name
    message: Annotated[str, Field(max_length=limits.MAX_MESSAGE_CHARS)]
    request_id: Annotated[str, Field(pattern=REQUEST_ID_PATTERN)]


class ErrorResponse(WireModel):
    """The body of every answer with a status of 400 or more."""

    error: ErrorBody


def seed_of(seed: int, index: int) -> int:
    """Return the seed of image ``index`` in a batch that was asked for with ``seed``."""
    return (seed + index) % (limits.MAX_SEED + 1)
