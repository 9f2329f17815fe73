"""The table of methods with their parameters. It loads without NumPy, because every command reads options.

The methods themselves are in ``selectors``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from pcevolve.public.figures import USUAL_DELTA
from pcevolve.public.method_names import AUTO, require_method
from pcevolve.public.settings import MOST_UNITS, PUBLIC, MethodSettings

TAU = 10.0
"""τ of PCEvolve's similarity calibrator, as published."""
VOTES = 1
"""Default number of nearest candidates that each private image votes for."""
USUAL_PRIOR, USUAL_BOUND, USUAL_SIZE = 1e-4, 1e-3, 10
"""Defaults of the promise about declared secrets: prior and bound as probabilities, size in texts."""
SecretPrior = Annotated[
    float,
    Field(
        gt=0,
        lt=1,
        description="Highest assumed probability of guessing a secret before the run. Default: "
        f"{USUAL_PRIOR:g}.",
    ),
    PUBLIC,
]
SecretBound = Annotated[
    float,
    Field(
        gt=0,
        lt=1,
        description="Highest allowed probability of guessing a secret after the run. Default: "
        f"{USUAL_BOUND:g}.",
    ),
    PUBLIC,
]
SecretSize = Annotated[
    int,
    Field(
        ge=1,
        le=MOST_UNITS,
        description=f"Largest number of texts that contain the same secret. Default: {USUAL_SIZE}.",
    ),
    PUBLIC,
]
MOST_CELLS = 10_000
"""Largest number of cells (clusters of candidates) per class."""
Cells = Annotated[
    int,
    Field(
        ge=1,
        le=MOST_CELLS,
        description="Number of clusters per class into which the first candidates are grouped. The "
        "method counts the private texts in each cluster.",
    ),
    PUBLIC,
]


@dataclass(frozen=True)
class ChoiceParameter:
    """Marks a parameter of how private data choose candidates. It does not apply to a run that chooses nothing.

    A record does not prove the parameter's value, so an audit has to trust the plan.
    """


OF_CHOICE: Final = ChoiceParameter()


def list_choice_parameters(method: type[MethodSettings[Any]]) -> frozenset[str]:
    """Return the names of a method's parameters that ``OF_CHOICE`` marks."""
    return frozenset(name for name, field in method.model_fields.items() if OF_CHOICE in field.metadata)


class CountedVotes(MethodSettings[None]):
    """Parameters of methods that count votes and add Gaussian noise."""

    threshold: Annotated[
        float,
        Field(
            ge=0,
            le=1e6,
            description="Threshold H, subtracted from the noisy votes, in the first iteration.",
        ),
        PUBLIC,
        OF_CHOICE,
    ] = 0.0
    threshold_end: Annotated[
        float | None,
        Field(
            ge=0,
            le=1e6,
            description="Threshold H in the last iteration. Default: the same threshold in all iterations.",
        ),
        PUBLIC,
        OF_CHOICE,
    ] = None
    votes: Annotated[
        int,
        Field(
            ge=1,
            le=1000,
            description="Number of nearest candidates that each private image votes for, q.",
        ),
        PUBLIC,
        OF_CHOICE,
    ] = VOTES

    @model_validator(mode="after")
    def _end_has_a_beginning(self) -> Self:
        if self.threshold_end is not None and "threshold" not in self.model_fields_set:
            raise ValueError("threshold-end: it is where the threshold goes to: give both, or leave it out")
        return self


class PrivateEvolution(CountedVotes):
    """Parameters of Private Evolution."""

    class_counts: Annotated[
        bool,
        Field(
            description="Release noisy class sizes and give the dataset the same proportions. This costs "
            "a tenth of the first iteration's budget."
        ),
        PUBLIC,
    ] = False


class VariedEvolution(MethodSettings[None]):
    """Parameters of methods whose rounds contain more candidates than the dataset."""

    variations: Annotated[
        int | None,
        Field(
            ge=1,
            le=100,
            description="Number of variations per round and image of the dataset, L - 1.",
        ),
        PUBLIC,
    ] = None


class AugmentedEvolution(VariedEvolution, CountedVotes):
    """Parameters of Augmented Private Evolution."""

    selection: Annotated[
        Literal["rank", "prob"],
        Field(
            description="rank keeps the candidates with the most votes; prob draws candidates in "
            "proportion to their votes."
        ),
        PUBLIC,
        OF_CHOICE,
    ] = "rank"


class Calibrated(MethodSettings[None]):
    """Parameters of PCEvolve."""

    tau: Annotated[
        float,
        Field(ge=0, le=1e6, description="Temperature tau of the similarity calibrator."),
        PUBLIC,
        OF_CHOICE,
    ] = TAU


class SecretEvolution(VariedEvolution):
    """Parameters of SecPE, which set its guarantee for secrets."""

    secret_prior: SecretPrior | None = None
    secret_bound: SecretBound | None = None
    secret_size: SecretSize | None = None
    cells: Cells | None = None


@dataclass(frozen=True)
class MethodEntry:
    """A method's entry in the table.

    Attributes:
        place: Module and name in ``selectors``.
        parameters: Model of its options.
        is_control: True if the method never accesses private data.
        delta: Default δ of its runs; 0 for methods with pure differential privacy.
    """

    place: str
    parameters: type[MethodSettings[None]] = MethodSettings[None]
    is_control: bool = False
    delta: float = USUAL_DELTA


METHOD_TABLE: Final = {
    "aug-pe": MethodEntry("votes:AUG_PE", AugmentedEvolution),
    "dp-means": MethodEntry("means:METHOD"),
    "jvem": MethodEntry("joint:METHOD"),
    "pcevolve": MethodEntry("contrastive:METHOD", Calibrated, delta=0.0),
    "pe": MethodEntry("votes:PE", PrivateEvolution),
    "pe-em": MethodEntry("votes:PE_EM"),
    "random": MethodEntry("control:RANDOM", is_control=True, delta=0.0),
    "secpe": MethodEntry("cells:METHOD", SecretEvolution),
    "t2i": MethodEntry("control:TEXT_TO_IMAGE", is_control=True, delta=0.0),
}
"""Every method that makes a dataset, by name. A new method is added here and nowhere else."""


def choose_delta(name: str) -> float:
    """Return the default δ of a run (``UsageError`` for an unknown method)."""
    return USUAL_DELTA if name == AUTO else METHOD_TABLE[require_method(name, METHOD_TABLE)].delta
