"""The options that the public plan repeats, each declared once: bounds, help, and where it is shown.

A run's settings, its public plan and ``pcevolve budget plan`` take their types from here.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from pcevolve import privacy
from pcevolve.errors import UsageError
from pcevolve.public.figures import parse_delta
from pcevolve.public.options import Panel, Setting
from pcevolve.public.secrecy import USUAL_BOUND, USUAL_PRIOR, USUAL_SIZE

MOST_ITERATIONS = 1000
TAU = 10.0
"""Of PCEvolve's similarity calibrator, as published."""

_MOST_USED = Setting(Panel.MOST_USED, public=True)
_PRIVACY = Setting(Panel.PRIVACY, public=True)
_EVOLUTION = Setting(Panel.EVOLUTION, public=True)
_IMAGES = Setting(Panel.IMAGES, public=True)
_TEXTS = Setting(Panel.TEXTS, public=True)
_API = Setting(Panel.API, public=True)


def _delta(value: float) -> float:
    """Check δ in the words that are used wherever it is checked."""
    try:
        return parse_delta(value)
    except UsageError as error:
        raise ValueError(str(error)) from None


def _window(value: object) -> object:
    """A window as it stands in a plan, from LOW,HIGH as text or as two numbers."""
    parts = value.split(",") if isinstance(value, str) else value
    try:
        low, high = map(float, parts if isinstance(parts, list | tuple) else ())
    except (TypeError, ValueError):
        raise ValueError("must be two numbers with a comma between, LOW,HIGH") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError("LOW must be below HIGH, and both must be numbers")
    return ",".join(repr(each).removesuffix(".0") for each in (low, high))


def window_ends(window: str | None) -> tuple[float, float] | None:
    """Return the values that become black and white, of a checked window; None without one."""
    return None if window is None else (float(window.split(",")[0]), float(window.split(",")[1]))


Window = Annotated[
    str,
    BeforeValidator(_window),
    Field(
        description="LOW,HIGH: what becomes black and what white in grey files, in their own units after slope and "
        "intercept, instead of what each file says; -160,240 shows soft tissue in CT. Public: choose it by the "
        "modality, and not by your images.",
    ),
    Setting(Panel.DATA, public=True),
]
Domain = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="Public words for what the images show: 'leather texture'.",
    ),
    _MOST_USED,
]
Delta = Annotated[
    float,
    AfterValidator(_delta),
    Field(ge=0, lt=1, description="Total delta; the method's own if not given (0 or 1e-5)."),
    _PRIVACY,
]
Relation = Annotated[
    privacy.Relation, Field(description="Neighbour relation: replace-one or add-remove."), _PRIVACY
]
UnitSize = Annotated[
    int,
    Field(
        ge=1,
        description="Most images that one patient (unit) has; public. Needed under add-remove where runs count the "
        "same patients by name and by image.",
    ),
    _PRIVACY,
]
SecretPrior = Annotated[
    float,
    Field(
        gt=0,
        lt=1,
        description="Probability with which somebody guesses a secret before the run; "
        f"{USUAL_PRIOR:g} if not given.",
    ),
    _PRIVACY,
]
SecretBound = Annotated[
    float,
    Field(
        gt=0,
        lt=1,
        description=f"Most probability with which it may be guessed after it; {USUAL_BOUND:g} if not given.",
    ),
    _PRIVACY,
]
SecretSize = Annotated[
    int,
    Field(ge=1, description=f"Most texts that one secret stands in; public; {USUAL_SIZE} if not given."),
    _PRIVACY,
]
Calibration = Annotated[
    Literal["tight", "published"],
    Field(description="tight, or published: the paper's own looser calibration of its noise."),
    _PRIVACY,
]
Model = Annotated[
    str, Field(min_length=1, max_length=200, description="Model that the API shall use."), _MOST_USED
]
Shots = Annotated[
    int,
    Field(
        ge=1,
        description="Nominal private units (images, or patients with --unit-map) per class, K; assumed public.",
    ),
    _MOST_USED,
]
Subsample = Annotated[
    int,
    Field(
        ge=1,
        description="Use exactly this many private units (images, or patients) of each class, drawn at random, each "
        "for one class; sets --shots. The guarantee is for those that are drawn, and only they are charged; what it "
        "means for the whole folder is printed beside it.",
    ),
    Setting(Panel.DATA, public=True),
]
MOST_CANDIDATES = 1_000_000
"""Images of a class in the dataset; as many as there may be private images."""
Candidates = Annotated[
    int, Field(ge=1, le=MOST_CANDIDATES, description="Synthetic images per class, N."), _MOST_USED
]
Iterations = Annotated[
    int,
    Field(ge=1, le=MOST_ITERATIONS, description="Evolution rounds, T; the method's own if not given."),
    _MOST_USED,
]
MOST_INITIAL = 10 * MOST_CANDIDATES
"""Text-to-image candidates of a class."""
Initial = Annotated[
    int,
    Field(
        ge=1,
        le=MOST_INITIAL,
        description="Text-to-image candidates per class to begin with; the method's own if not given.",
    ),
    _EVOLUTION,
]
Prototypes = Annotated[
    int,
    Field(
        ge=1, le=MOST_CANDIDATES, description="Prototypes per class and round; the method's own if not given."
    ),
    _EVOLUTION,
]
MinUsable = Annotated[
    float,
    Field(
        gt=0,
        le=1,
        description="Share of each class's candidates that must be usable and differ (two at least); with fewer the "
        "run stops before it pays for anything.",
    ),
    _EVOLUTION,
]
Lookahead = Annotated[
    int,
    Field(
        ge=0,
        le=100,
        description="Judge each candidate by the mean embedding of this many variations of it.",
    ),
    _EVOLUTION,
]
Selection = Annotated[
    Literal["rank", "prob"],
    Field(
        description="How aug-pe chooses by its votes: rank keeps the best; prob draws in proportion to what is left of "
        "them above --threshold, possibly the same more than once."
    ),
    _EVOLUTION,
]
Variations = Annotated[
    int,
    Field(
        ge=1,
        le=100,
        description="Variations that aug-pe and secpe ask for in a round, for each place in the dataset: L - 1 of the "
        "papers; the method's own if not given.",
    ),
    _EVOLUTION,
]
More = Annotated[
    int,
    Field(
        ge=0,
        le=1000,
        description="Enlarge the dataset by this many variations of every image; they spend no privacy budget.",
    ),
    _EVOLUTION,
]
Pool = Annotated[
    Literal["latest", "survivors", "all"],
    Field(
        description="What may be chosen: the latest generation, that and what was chosen the last time (survivors), or "
        "all; the method's own if not given."
    ),
    _EVOLUTION,
]
Keep = Annotated[
    Literal["last", "selected"],
    Field(
        description="The dataset: the last generation, or selected from all; the method's own if not given."
    ),
    _EVOLUTION,
]
Appearance = Annotated[
    Literal["as-is", "matched", "auto"],
    Field(
        description="The dataset's tone, colour, sharpness and place: matched to the private images', as-is, or auto: "
        "whichever lies nearer to what is released about the classes; the method's own if not given."
    ),
    _EVOLUTION,
]
Threshold = Annotated[
    float,
    Field(
        ge=0,
        le=1e6,
        description="H of Private Evolution and Aug-PE, subtracted from noisy votes; in the first iteration.",
    ),
    _EVOLUTION,
]
ThresholdEnd = Annotated[
    float,
    Field(
        ge=0,
        le=1e6,
        description="H in the last iteration, to which it goes in a straight line; the same in all if not given.",
    ),
    _EVOLUTION,
]
Votes = Annotated[
    int,
    Field(
        ge=1,
        le=1000,
        description="How many of its nearest candidates each private image votes for in Private Evolution, q.",
    ),
    _EVOLUTION,
]
ClassCounts = Annotated[
    bool,
    Field(
        description="Release noisy numbers of private units by class, at a tenth of the first iteration's price, and "
        "give the dataset's classes sizes in proportion.",
    ),
    _EVOLUTION,
]
MOST_CELLS = 10_000
"""Of a class."""
Cells = Annotated[
    int,
    Field(
        ge=1,
        le=MOST_CELLS,
        description="Groups of first candidates of each class around which SecPE counts private texts; if not given, "
        "as many as noise leaves something to see in, were there a secret in every text.",
    ),
    _EVOLUTION,
]
Tau = Annotated[
    float,
    Field(
        ge=0,
        le=1e6,
        description=f"Tau of PCEvolve's similarity calibrator; {TAU:g} if not given.",
    ),
    _EVOLUTION,
]
Strength = Annotated[float, Field(ge=0, le=1)]
PromptTemplate = Annotated[
    str, Field(max_length=1000, description="Prompt with {domain} and {label}."), _IMAGES
]
VaryBy = Annotated[
    Literal["image", "prompt"],
    Field(
        description="What goes back for a variation: the prototype's image (image-to-image), or only which of its "
        "class's --prompts it was made with (text-to-image under another seed), for APIs that vary no images."
    ),
    _EVOLUTION,
]
Prompt = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A prompt as it goes out."""
NegativePrompt = Annotated[str, Field(max_length=1000, description="What images should not show."), _IMAGES]
Guidance = Annotated[float, Field(ge=0, le=50, description="Guidance scale."), _IMAGES]
Steps = Annotated[int, Field(ge=1, le=150, description="Denoising steps."), _IMAGES]
Adapter = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="IP-Adapter of the API by which prototypes also speak as image prompts when they are varied.",
    ),
    _IMAGES,
]
AdapterScale = Annotated[
    float, Field(ge=0, le=1, description="Weight of the image prompt (--adapter)."), _IMAGES
]
Tokens = Annotated[
    int, Field(ge=1, le=4096, description="Most tokens of one text, of an API that writes texts."), _TEXTS
]
Temperature = Annotated[
    float,
    Field(ge=0, le=2, description="Temperature of the language model, of an API that writes texts."),
    _TEXTS,
]
Pixels = Annotated[
    int, Field(ge=8, le=4096, description="Pixels per side; the model's own if not given."), _IMAGES
]
Batch = Annotated[int, Field(ge=1, le=64, description="Images per request."), _IMAGES]
AtOnce = Annotated[
    int,
    Field(
        ge=1,
        le=64,
        description="Images that requests of one round may ask for at once; a single request may ask for more.",
    ),
    _API,
]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256, hex."""
PublicSeed = Annotated[
    int,
    Field(ge=0, lt=2**32, description="Public seed of what goes over the wire; a new one if not given."),
    _IMAGES,
]
Licence = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9.-]{0,59}$",
        description="Licence of the released dataset, as Hugging Face spells it: mit, cc-by-4.0; for its card.",
    ),
    _IMAGES,
]
UNKNOWN_LICENCE = "unknown"
"""The word of Hugging Face for a licence that nobody named."""
ImageHost = Annotated[str, Field(pattern=r"^[a-z0-9.-]{1,253}(:[0-9]{1,5})?$")]
ImageHosts = Annotated[
    tuple[ImageHost, ...],
    Field(
        max_length=20,
        description="Host from which images may be fetched, of an API that sends links; once for each host.",
    ),
    Setting(Panel.API, public=True, flag="--image-host"),
]
