"""The JSON that crosses the trust boundary, in the style of getimg's v1 API. No I/O.

Each side validates received messages with these models, because a client or a server may be hostile. The models
are frozen. They allow no unknown fields, no coercion between types, no NaN or infinity, and bound every length.
Parse with ``model_validate_json``: only there does strict mode read a JSON list as a tuple.
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
    """Turn 28.0 into 28, because JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
"""To be placed after the bounds of an integer, so that the schema keeps the bounds."""
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

    # The API itself uses the words ``model`` and ``model_*``. hide_input_in_errors keeps images out of logs.
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
        Name | None, Field(description="Absent: the recommended scheduler, or the model's own.")
    ] = None
    output_format: OutputFormat = "png"
    response_format: Literal["b64"] = "b64"
    n: Annotated[
        int,
        Field(
            ge=1, le=limits.MAX_BATCH, description="Extension: image k gets the seed (seed + k) mod 2**32."
        ),
        WHOLE,
    ] = 1


class TextToImageRequest(GenerationRequest):
    """``POST`` :data:`TEXT_TO_IMAGE`."""

    width: Annotated[Size, Field(description="Absent from the body: the model's own base width.")] = 512
    height: Annotated[Size, Field(description="Absent from the body: the model's own base height.")] = 512


class ImageToImageRequest(GenerationRequest):
    """``POST`` :data:`IMAGE_TO_IMAGE`. The answer has the size of ``image``."""

    image: Annotated[
        Base64,
        Field(repr=False, description="Base64 of a PNG, JPEG or WebP file, without a data-URL prefix."),
    ]
    strength: Annotated[
        Fraction,
        Field(description="0 returns the input, 1 ignores it. A model without strengths refuses this field."),
    ] = 0.5


class IpAdapterRequest(ImageToImageRequest):
    """``POST`` :data:`IP_ADAPTER`. ``image`` also conditions through the adapter."""

    adapter: Name
    scale: Annotated[Fraction | None, Field(description="Absent: the server's own.")] = None
    strength: Fraction = 1.0


_WITHHELD = "Null: the safety checker refused the image. If it refused all images, the answer is an error."


class GeneratedImage(WireModel):
    """One image of a batch."""

    image: Annotated[Base64 | None, Field(repr=False, description=_WITHHELD)]
    seed: Seed


class ImageResponse(WireModel):
    """The answer to a request with ``n == 1``. ``cost`` is in the account's currency."""

    image: Annotated[Base64, Field(repr=False)]
    seed: Seed
    cost: Cost


class BatchResponse(WireModel):
    """The answer to a request with ``n > 1``, in the order of the seeds."""

    images: Annotated[tuple[GeneratedImage, ...], Field(min_length=1, max_length=limits.MAX_BATCH)]
    cost: Cost


class Resolution(WireModel):
    """A size in pixels."""

    width: Side
    height: Side


class LicenceCount(WireModel):
    """A licence and the number of images under it."""

    name: Name
    images: Annotated[int, Field(ge=1)]


class LicenceFile(WireModel):
    """A licence, notice or list of sources: ``text`` is the file's beginning, ``sha256`` the whole file's."""

    name: Name
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    text: Annotated[str, Field(max_length=limits.MAX_LICENCE_CHARS)]


class LibraryInfo(WireModel):
    """The description of a model that generates nothing. Its answers are real public images of a collection."""

    images: Annotated[int, Field(ge=1)]
    licences: Annotated[tuple[LicenceCount, ...], Field(max_length=limits.MAX_LICENCES)] = ()
    licence_files: Annotated[tuple[LicenceFile, ...], Field(max_length=limits.MAX_LICENCE_FILES)] = ()


def _absent(value: object) -> bool:
    """True if an optional field is None. Such a field is left out of the JSON, as by older servers."""
    return value is None


def _is_empty(value: object) -> bool:
    return value == ()


def _usual(value: object) -> bool:
    """True if a field has the value that older servers imply by leaving it out."""
    return value is True


class Recommended(WireModel):
    """Recommended settings of a model. A client may request other settings."""

    steps: Annotated[int, Field(ge=1, le=limits.MAX_STEPS)]
    guidance: Annotated[float, Field(ge=0, le=limits.MAX_GUIDANCE)]
    strength_low: Annotated[
        float,
        Field(gt=0, le=1, description="Below this strength, a variation hardly differs from its image."),
    ]
    strength_high: Annotated[
        float,
        Field(gt=0, le=1, description="Above this strength, a variation keeps hardly anything of its image."),
    ]
    scheduler: Annotated[
        Name | None,
        Field(
            description="For requests that name no scheduler. Absent: the scheduler in the model's files.",
            exclude_if=_absent,
        ),
    ] = None


Exactness = Literal["shared", "alone", "merged", "no"]


class ModelInfo(WireModel):
    """The abilities of a model that a client has to know before its first request.

    ``object``, ``created`` and ``owned_by`` are for clients of OpenAI's API, which require them.
    """

    id: Name
    object: Literal["model"] = "model"
    created: Annotated[int, Field(ge=0, description="0 if it is not known.")] = 0
    owned_by: Name = "pcevolve"
    name: Name
    family: Name
    pipelines: Annotated[tuple[Pipeline, ...], Field(max_length=limits.MAX_LIST)]
    base_resolution: Annotated[
        Resolution | None, Field(description="Absent for a model that writes text.", exclude_if=_absent)
    ] = None
    size_multiple: Annotated[
        Side, Field(description="Width and height must be multiples of this number.")
    ] = 8
    schedulers: Annotated[tuple[Name, ...], Field(max_length=limits.MAX_LIST)] = ()
    adapters: Annotated[tuple[Name, ...], Field(max_length=limits.MAX_LIST)] = ()
    max_images: Annotated[int, Field(ge=1, le=limits.MAX_BATCH, description="Largest n.")] = 1
    batch_pixels: Annotated[
        int | None,
        Field(
            ge=1, description="Most pixels of all images of a batch. Absent for texts.", exclude_if=_absent
        ),
    ] = None
    max_pixels: Annotated[
        int | None,
        Field(
            ge=1,
            description="Most pixels of one image for which the device has memory. Absent: not measured.",
            exclude_if=_absent,
        ),
    ] = None
    exact: Annotated[
        Exactness | None,
        Field(
            description="What an equal request gets. shared: the same bytes, also in a batch with"
            " other requests. alone: the same bytes, because each request runs alone."
            " merged, no: the same image up to rounding. Absent: not stated.",
            exclude_if=_absent,
        ),
    ] = None
    negative_prompts: Annotated[
        bool,
        Field(description="Absent where one may be given.", exclude_if=_usual),
    ] = True
    strengths: Annotated[
        bool,
        Field(description="False: the model itself sets the degree of variation.", exclude_if=_usual),
    ] = True
    domains: Annotated[
        tuple[Name, ...],
        Field(
            max_length=limits.MAX_LIST,
            description="The only subjects that the model draws, in words. Absent: not known.",
            exclude_if=_is_empty,
        ),
    ] = ()
    recommended: Annotated[
        Recommended | None,
        Field(
            description="Absent: not known.",
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
            ValueError: The model writes text.
        """
        if self.base_resolution is None:
            raise ValueError(f"{self.id} makes no images")
        return self.base_resolution


class ModelList(WireModel):
    """``GET`` :data:`MODELS`, as clients of OpenAI's API read it. getimg's own answer is the bare list."""

    object: Literal["list"] = "list"
    data: Annotated[tuple[ModelInfo, ...], Field(max_length=limits.MAX_LIST)]


class BalanceResponse(WireModel):
    """``GET`` :data:`BALANCE`. ``None`` for a server that does not bill."""

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
    """Return the seed of image ``index`` in a batch that was requested with ``seed``."""
    return (seed + index) % (limits.MAX_SEED + 1)
