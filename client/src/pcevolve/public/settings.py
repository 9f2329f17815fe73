"""Sections of a run's public options, which the public plan embeds, with bounds, help texts and visibility."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Self, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from pcevolve.errors import UsageError
from pcevolve.public import privacy
from pcevolve.public.config.declared import EXACT, UNDECIDED, PlanField, Undecided
from pcevolve.public.config.options import Setting
from pcevolve.public.figures import parse_delta

MOST_ITERATIONS = 1000
MOST_CLASSES = 1000

PUBLIC = Setting(public=True)
AbsolutePath = Annotated[Path, AfterValidator(Path.absolute)]


def _delta(value: float) -> float:
    """Check δ, with the same message as for other sources of options."""
    try:
        return parse_delta(value)
    except UsageError as error:
        raise ValueError(str(error)) from None


def require_one_line(text: str) -> str:
    """Refuse text that is not one line of visible characters (``ValueError``)."""
    if not text.isprintable():
        raise ValueError("must be one line of characters that can be seen")
    return text


def _window(value: object) -> object:
    """Return a window as a plan spells it, from the text LOW,HIGH or from two numbers."""
    if value is None:
        return None
    parts = value.split(",") if isinstance(value, str) else value
    try:
        low, high = map(float, parts if isinstance(parts, list | tuple) else ())
    except (TypeError, ValueError):
        raise ValueError("must be two numbers with a comma between, LOW,HIGH") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError("LOW must be below HIGH, and both must be numbers")
    return ",".join(repr(each).removesuffix(".0") for each in (low, high))


def window_ends(window: str | None) -> tuple[float, float] | None:
    """Return the grey values that become black and white under a checked window; None without one."""
    return None if window is None else (float(window.split(",")[0]), float(window.split(",")[1]))


MOST_WORDS = 200
"""Largest number of characters in a class's words in prompts."""
Words = Annotated[str, Field(max_length=MOST_WORDS, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""A class's words in prompts; may be empty."""
Delta = Annotated[
    float,
    AfterValidator(_delta),
    Field(ge=0, lt=1, description="Total delta of the run. Default: the method's default, 0 or 1e-5."),
    PUBLIC,
]
Fraction = Annotated[str, Field(pattern=r"^[0-9]{1,60}(/[1-9][0-9]{0,59})?$")]
"""An exact number, as a fraction."""
Relation = Annotated[
    privacy.Relation, Field(description="Neighbour relation: replace-one or add-remove."), PUBLIC
]
MOST_UNITS = 10**9
"""Largest number of private items of any kind, so that counts fit into 64-bit integers and are exact as floats."""
Calibration = Annotated[
    Literal["tight", "published"],
    Field(description="How the noise is calibrated: tight, or published (the paper's looser calibration)."),
    PUBLIC,
]
Shots = Annotated[
    int,
    Field(
        ge=1,
        le=MOST_UNITS,
        description="Number of private images (or patients, with --unit-map) per class, K. The number "
        "itself is public.",
    ),
    PUBLIC,
]
Subsample = Annotated[
    int,
    Field(
        ge=1,
        le=MOST_UNITS,
        description="Draw exactly this many units of each class at random. This sets --shots. The "
        "epsilon for a unit of the whole folder is then larger than --epsilon; it is printed "
        "first.",
    ),
    PUBLIC,
]
MOST_CANDIDATES = 1_000_000
"""Largest number of images per class in the dataset."""
Candidates = Annotated[
    int, Field(ge=1, le=MOST_CANDIDATES, description="Number of synthetic images per class, N."), PUBLIC
]
Iterations = Annotated[
    int,
    Field(ge=1, le=MOST_ITERATIONS, description="Number of evolution rounds, T."),
    PUBLIC,
]
MOST_INITIAL = 10 * MOST_CANDIDATES
"""Largest number of text-to-image candidates per class."""
Initial = Annotated[
    int,
    Field(
        ge=1,
        le=MOST_INITIAL,
        description="Number of candidates per class that are made from words at the start.",
    ),
    PUBLIC,
]
Prototypes = Annotated[
    int,
    Field(ge=1, le=MOST_CANDIDATES, description="Number of prototypes per class and round."),
    PUBLIC,
]
Pool = Annotated[
    Literal["latest", "survivors", "all"],
    Field(
        description="Candidates that may be chosen: the latest generation, the latest generation and the "
        "last choice (survivors), or all."
    ),
    PUBLIC,
]
Keep = Annotated[
    Literal["last", "selected"],
    Field(description="What becomes the dataset: the last generation, or a selection from all candidates."),
    PUBLIC,
]
Appearance = Annotated[
    Literal["as-is", "matched", "auto"],
    Field(
        description=(
            "Tone, colour, sharpness and position of the dataset's images: as-is leaves them unchanged, "
            "matched matches them to the private images, and auto uses whichever is nearer to the "
            "released means."
        )
    ),
    PUBLIC,
]
Lookahead = Annotated[
    int,
    Field(
        ge=0,
        le=100,
        description="Number of variations per candidate. The candidate is judged by the "
        "mean of their embeddings.",
    ),
    PUBLIC,
]
Strength = Annotated[float, Field(ge=0, le=1)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""SHA-256, hex."""
PublicSeed = Annotated[
    int,
    Field(ge=0, lt=2**32, description="Public seed of the requests. Default: a new seed."),
    PUBLIC,
]
Form: TypeAlias = Literal["parquet", "webdataset", "jsonl", "csv"]
"""Formats in which a released dataset can be exported."""
UNKNOWN_LICENCE = "unknown"
"""Hugging Face's code for an unknown licence."""


Epsilon = Annotated[str, EXACT, Field(description="Total privacy budget (epsilon) of the run, > 0."), PUBLIC]


class Section(BaseModel):
    """A section of a run's options, which is a table in a configuration file."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def take(cls, part: Section) -> dict[str, Any]:
        """Return, by name, the fields of this section from a section that extends it."""
        return {name: getattr(part, name) for name in cls.model_fields}


class DataSettings(Section):
    """The public facts about the private data."""

    domain: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            description="Public words that say what the images show, such as 'leather texture'.",
        ),
        PUBLIC,
    ]
    shots: Shots = 10
    subsample: Subsample | None = None
    unit_size: Annotated[
        int | None,
        Field(
            ge=1,
            le=MOST_UNITS,
            description="Largest number of images of one patient (unit). Needed under add-remove if some "
            "runs identify patients by name and others by image.",
        ),
        PUBLIC,
    ] = None
    window: Annotated[
        str | None,
        BeforeValidator(_window),
        Field(
            description="LOW,HIGH: grey values of a file that become black and white, such as -160,240 "
            "for soft tissue in CT. Choose them by the modality, not by your images."
        ),
        Setting(public=True, only="image"),
    ] = None


class PrivacySettings(Section, Generic[Undecided]):
    """The budget of a run."""

    epsilon: Annotated[Epsilon, PlanField(kind=Fraction)] = "10"
    delta: Annotated[Delta | Undecided, PlanField(0.0)] = UNDECIDED
    relation: Relation = "replace-one"
    forget_insecure: Annotated[
        bool,
        Field(
            description="Leave earlier INSECURE runs on these data out of the sum. The card and the "
            "report state this."
        ),
        PUBLIC,
    ] = False


class ReleaseSettings(Section):
    """Statements about the released dataset."""

    licence: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9][a-z0-9.-]{0,59}$",
            description="Licence of the dataset, for its card, such as mit or cc-by-4.0.",
        ),
        PUBLIC,
    ] = UNKNOWN_LICENCE


Parameters = TypeVar("Parameters", bound="MethodSettings[Any]")


class MethodSettings(Section, Generic[Undecided]):
    """How candidates are chosen and varied, for all methods. Some methods add parameters of their own.

    An undecided field takes the method's value, or a value that is decided at the start from public facts only.
    """

    name: Annotated[
        str,
        Field(
            description="Method that selects the dataset from the provider's images. docs/methods.md "
            "compares the methods."
        ),
        Setting(public=True, keyword="method"),
    ] = "auto"
    calibration: Calibration = "tight"
    candidates: Candidates = 100
    # In a plan, 0 iterations mean text-to-image alone.
    iterations: Annotated[
        Iterations | Undecided, PlanField(20, Annotated[int, Field(ge=0, le=MOST_ITERATIONS)])
    ] = UNDECIDED
    initial: Annotated[Initial | Undecided, PlanField()] = UNDECIDED
    prototypes: Annotated[Prototypes | Undecided, PlanField(1)] = UNDECIDED
    min_usable: Annotated[
        float,
        Field(
            gt=0,
            le=1,
            description="Share of each class's candidates that must be usable and different before the "
            "run spends any budget.",
        ),
        PUBLIC,
    ] = 0.25
    lookahead: Lookahead = 0
    more: Annotated[
        int,
        Field(
            ge=0,
            le=1000,
            description="Add this many variations of every image to the dataset, at no privacy cost.",
        ),
        PUBLIC,
    ] = 0
    pool: Annotated[Pool | Undecided, PlanField("latest")] = UNDECIDED
    keep: Annotated[Keep | Undecided, PlanField("last")] = UNDECIDED
    appearance: Annotated[Appearance | Undecided, PlanField("as-is")] = UNDECIDED
    vary_by: Annotated[
        Literal["image", "prompt"],
        Field(
            description="What a variation is made from: the prototype's image, or its prompt with "
            "another seed."
        ),
        PUBLIC,
    ] = "image"
    vary_with: Annotated[
        Literal["own prompt", "template"],
        Field(description="Prompt for varying an image: the prompt that made it, or prompt_template."),
        PUBLIC,
    ] = "own prompt"
    strengths: Annotated[
        tuple[Strength, ...],
        Field(description="Image-to-image strengths, one per iteration."),
        PUBLIC,
    ] = ()
    strength_start: Annotated[
        Strength | None,
        Field(description="Image-to-image strength in the first iteration."),
        PUBLIC,
    ] = None
    strength_end: Annotated[
        Strength | None,
        Field(description="Image-to-image strength in the last iteration."),
        PUBLIC,
    ] = None

    def of(self, kind: type[Parameters]) -> Parameters:
        """Return the parameters that one kind of method adds; their defaults if this method is of another kind."""
        return self if isinstance(self, kind) else kind()

    @model_validator(mode="before")
    @classmethod
    def _iterations_are_as_many_as_strengths(cls, values: dict[str, Any]) -> dict[str, Any]:
        if not values.get("strengths") or values.get("iterations") is not None:
            return values
        return {**values, "iterations": len(values["strengths"])}

    @model_validator(mode="after")
    def _say_one_schedule(self) -> Self:
        if self.strengths and (self.strength_start is not None or self.strength_end is not None):
            raise ValueError(
                "strengths: each iteration's is given, so there is no first and last one to give"
            )
        if self.strengths and self.iterations != len(self.strengths):
            raise ValueError(f"strengths: {len(self.strengths)} are given for {self.iterations} iterations")
        return self
