"""Names of the methods and the parameters of each: what options are read by, without NumPy.

What a method does with them is in its file in ``selectors``, and the registry there has an entry for each name here.
"""

from __future__ import annotations

from typing import Final, Self

from pydantic import model_validator

from pcevolve.errors import UsageError
from pcevolve.public.settings import (
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

AUTO: Final = "auto"
"""Chooses a method by public sizes; it is none itself."""
ALIASES: Final = {"b": "t2i"}
"""What the papers call methods that have a name of their own here."""
ELSEWHERE: Final = {
    "init": "the untrained head is a row of the tables of 'pcevolve-bench table'",
    "private": "the private images themselves are judged by 'pcevolve evaluate' with --mix",
    "dp-means-classifier": "every run of dp-means releases it: 'pcevolve classify RUN IMAGES' applies it, and a table "
    "of 'pcevolve-bench table' has it as a row",
}
"""Rows of the papers' tables that make no dataset, and where to find them."""


class CountedVotes(MethodSettings):
    """Parameters of methods that count votes under Gaussian noise."""

    threshold: Threshold | None = None
    threshold_end: ThresholdEnd | None = None
    votes: Votes | None = None

    @model_validator(mode="after")
    def _end_has_a_beginning(self) -> Self:
        if self.threshold_end is not None and self.threshold is None:
            raise ValueError("threshold-end: it is where the threshold goes to: give both, or leave it out")
        return self


class PrivateEvolution(CountedVotes):
    """Parameters of Private Evolution."""

    class_counts: ClassCounts = False


class AugmentedEvolution(CountedVotes):
    """Parameters of Augmented Private Evolution."""

    selection: Selection | None = None
    variations: Variations | None = None


class Calibrated(MethodSettings):
    """Parameters of PCEvolve."""

    tau: Tau | None = None


class SecretEvolution(MethodSettings):
    """Parameters of SecPE: what is promised of secrets."""

    secret_prior: SecretPrior | None = None
    secret_bound: SecretBound | None = None
    secret_size: SecretSize | None = None
    cells: Cells | None = None
    variations: Variations | None = None


METHOD_SETTINGS: Final[dict[str, type[MethodSettings]]] = {
    "aug-pe": AugmentedEvolution,
    "dp-means": MethodSettings,
    "jvem": MethodSettings,
    "pcevolve": Calibrated,
    "pe": PrivateEvolution,
    "pe-em": MethodSettings,
    "random": MethodSettings,
    "secpe": SecretEvolution,
    "t2i": MethodSettings,
}
"""The parameters of each method that makes a dataset, by its name."""


def require_method(name: str) -> str:
    """Return a method's own name, also for the one that it has in its paper's tables; else ``UsageError``."""
    name = ALIASES.get(name, name)
    if name in ELSEWHERE:
        raise UsageError(f"'{name}' makes no dataset, so it is no method: {ELSEWHERE[name]}")
    if name == AUTO:
        raise UsageError(
            "auto is not a method but chooses one by public sizes: name the one that it would take"
        )
    if name not in METHOD_SETTINGS:
        raise UsageError(
            f"unknown method '{name}': choose one of {', '.join(sorted([*METHOD_SETTINGS, AUTO]))}"
        )
    return name
