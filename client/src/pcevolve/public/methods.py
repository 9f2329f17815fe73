"""The table of methods and the parameters of each: what options are read by, without NumPy.

What a method does with them is in its file in ``selectors``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from pydantic import model_validator

from pcevolve.public.figures import USUAL_DELTA
from pcevolve.public.method_names import AUTO, require_method
from pcevolve.public.settings import (
    TAU,
    VOTES,
    Cells,
    ClassCounts,
    MethodSettings,
    SecretBound,
    SecretPrior,
    SecretSize,
    Selection,
    Tau,
    Threshold,
    ThresholdEnd,
    Variations,
    Votes,
)


class CountedVotes(MethodSettings):
    """Parameters of methods that count votes under Gaussian noise."""

    threshold: Threshold = 0.0
    threshold_end: ThresholdEnd | None = None
    votes: Votes = VOTES

    @model_validator(mode="after")
    def _end_has_a_beginning(self) -> Self:
        if self.threshold_end is not None and "threshold" not in self.model_fields_set:
            raise ValueError("threshold-end: it is where the threshold goes to: give both, or leave it out")
        return self


class PrivateEvolution(CountedVotes):
    """Parameters of Private Evolution."""

    class_counts: ClassCounts = False


class VariedEvolution(MethodSettings):
    """Parameters of methods that choose from rounds larger than the dataset."""

    variations: Variations | None = None


class AugmentedEvolution(VariedEvolution, CountedVotes):
    """Parameters of Augmented Private Evolution."""

    selection: Selection = "rank"


class Calibrated(MethodSettings):
    """Parameters of PCEvolve."""

    tau: Tau = TAU


class SecretEvolution(VariedEvolution):
    """Parameters of SecPE: what is promised of secrets."""

    secret_prior: SecretPrior | None = None
    secret_bound: SecretBound | None = None
    secret_size: SecretSize | None = None
    cells: Cells | None = None


@dataclass(frozen=True)
class MethodEntry:
    """A method's line in the table.

    Attributes:
        place: Where it is in ``selectors``: module and name.
        parameters: The options that it has.
        is_control: Whether it never looks at private data.
        delta: δ of a run whose user names none; 0 where ε alone is promised.
    """

    place: str
    parameters: type[MethodSettings] = MethodSettings
    is_control: bool = False
    delta: float = USUAL_DELTA


METHOD_TABLE: Final = {
    "aug-pe": MethodEntry("votes:AUG_PE", AugmentedEvolution),
    "dp-means": MethodEntry("means:METHOD"),
    "jvem": MethodEntry("joint:METHOD"),
    "pcevolve": MethodEntry("contrastive:METHOD", Calibrated, delta=0.0),
    "pe": MethodEntry("votes:PE", PrivateEvolution),
    "pe-em": MethodEntry("votes:PE_EM", delta=0.0),
    "random": MethodEntry("control:RANDOM", is_control=True, delta=0.0),
    "secpe": MethodEntry("cells:METHOD", SecretEvolution),
    "t2i": MethodEntry("control:TEXT_TO_IMAGE", is_control=True, delta=0.0),
}
"""Every method that makes a dataset, by its name; a new one has its line here, and nowhere else."""


def choose_delta(name: str) -> float:
    """δ of a run whose user names none; ``UsageError`` where there is no such method."""
    return USUAL_DELTA if name == AUTO else METHOD_TABLE[require_method(name, METHOD_TABLE)].delta
