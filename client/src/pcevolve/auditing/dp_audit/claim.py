"""The claim that a privacy audit tests, its options in ``pcevolve audit-dp``, and its verdict."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pcevolve.errors import UsageError
from pcevolve.public import settings
from pcevolve.public.config.declared import EXACT
from pcevolve.public.config.options import Setting
from pcevolve.public.figures import parse_epsilon
from pcevolve.public.privacy import Budget, Relation

FEWEST_RUNS = 100


@dataclass(frozen=True)
class Claim:
    """The claim that a whole run of a method, calibrated to a budget, is (ε, δ)-DP.

    Attributes:
        images: Number of images in the privacy unit that changes.
        rounds: Number of rounds of the run, at least 1; their releases are combined.
        runs: Number of simulated runs on each dataset. One half chooses an event, and the other half bounds ε.
        confidence: Probability that the bound is right, in [0.95, 1).
    """

    method: str
    budget: Budget
    relation: Relation
    images: int
    rounds: int
    runs: int
    confidence: float

    def __post_init__(self) -> None:
        """Refuse a claim that cannot be tested, as with too few runs or too low a confidence (``UsageError``)."""
        if self.rounds < 1 or self.images < 1:
            raise UsageError(f"an audit needs a round and an image, not {self.rounds} and {self.images}")
        if self.runs < FEWEST_RUNS:
            raise UsageError(f"{self.runs} runs show nothing: use --runs {FEWEST_RUNS} or more")
        if not 0.95 <= self.confidence < 1:
            raise UsageError(f"--confidence must be at least 0.95 and below 1, not {self.confidence:g}")


@dataclass(frozen=True)
class ClaimVerdict:
    """The result of auditing a claim.

    Attributes:
        epsilon_lower_bound: Lower bound on the method's true ε, with the claim's confidence.
        epsilon_ceiling: The largest bound that this many runs could have given for any method.
        inference: The bound's assumption.
        likelier: The dataset on which the event is likelier.
        counts: Occurrences of the event on the first and the second dataset, in ``tested`` runs of each.
    """

    claim: Claim
    epsilon_lower_bound: float
    epsilon_ceiling: float
    inference: str
    event: str
    likelier: Literal["first", "second"]
    counts: tuple[int, int]
    tested: int
    noise: str

    @property
    def holds(self) -> bool:
        """True if the lower bound on ε is within the claimed ε."""
        return self.epsilon_lower_bound <= self.claim.budget.epsilon

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        # Round down to thousandths, so that the printed number is a valid lower bound too.
        least = math.floor(self.epsilon_lower_bound * 1000) / 1000
        claimed = (
            f"the claim of method '{self.claim.method}' (epsilon {float(self.claim.budget.epsilon):.12g})"
        )
        found = "not refuted" if self.holds else "REFUTED"
        return f"{claimed} is {found}: with confidence {self.claim.confidence}, epsilon is at least {least:g}"

    def as_dict(self) -> dict[str, Any]:
        """Return claim and verdict as plain values for JSON."""
        claim, verdict = self.claim, asdict(self)
        del verdict["claim"]
        return {
            "method": claim.method,
            "relation": claim.relation,
            "epsilon_claimed": float(claim.budget.epsilon),
            "delta": claim.budget.delta,
            "images_per_unit": claim.images,
            "rounds": claim.rounds,
            "runs": claim.runs,
            "confidence": claim.confidence,
            **verdict,
            "verdict": "not refuted" if self.holds else "refuted",
        }


DECLARED = Setting()


class AuditedClaim(BaseModel):
    """The claim that ``audit-dp`` tests, and the size of the test.

    ``delta`` and ``relation`` are declared as for ``pcevolve run``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: Annotated[
        str, EXACT, Field(description="Epsilon that the method claims for a complete run, > 0."), DECLARED
    ]
    delta: settings.Delta | None = None
    relation: settings.Relation = "replace-one"
    images_per_unit: Annotated[
        int,
        Field(
            ge=1,
            description="Number of images in the privacy unit that differs between the two "
            "datasets (--unit-map).",
        ),
        DECLARED,
    ] = 1
    rounds: Annotated[int, Field(ge=1, le=100, description="Number of rounds of the run, T."), DECLARED] = 1
    runs: Annotated[
        int,
        Field(
            ge=100,
            description="Number of simulated runs on each of the two datasets. 20000 runs take "
            "half a minute.",
        ),
        DECLARED,
    ] = 20_000
    confidence: Annotated[
        float, Field(description="Confidence level of the result, at least 0.95 and below 1."), DECLARED
    ] = 0.95
    seed: Annotated[
        int | None,
        Field(
            ge=0,
            description="Seed for the noise, which makes the result repeatable. The noise of a real run "
            "has no seed.",
        ),
        DECLARED,
    ] = None

    def of(self, method: str) -> Claim:
        """Return the claim about a method."""
        from pcevolve.public.methods import choose_delta

        delta = choose_delta(method) if self.delta is None else self.delta
        budget = Budget(parse_epsilon(self.epsilon), delta)
        return Claim(
            method, budget, self.relation, self.images_per_unit, self.rounds, self.runs, self.confidence
        )
