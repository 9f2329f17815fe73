"""The options of ``pcevolve audit-dp``, which describe a claim."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pcevolve.auditing.dp_audit.claim import Claim
from pcevolve.public import settings
from pcevolve.public.declared import EXACT
from pcevolve.public.figures import parse_epsilon
from pcevolve.public.options import Setting
from pcevolve.public.privacy import Budget

DECLARED = Setting()


class AuditedClaim(BaseModel):
    """The claim that ``audit-dp`` tests, and the size of the test; δ and relation are declared as for a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epsilon: Annotated[str, EXACT, Field(description="What a whole run claims, > 0."), DECLARED]
    delta: settings.Delta | None = None
    relation: settings.Relation = "replace-one"
    images_per_unit: Annotated[
        int, Field(ge=1, description="Images in the privacy unit that changes (--unit-map)."), DECLARED
    ] = 1
    rounds: Annotated[int, Field(ge=1, le=100, description="Rounds of the run, T."), DECLARED] = 1
    runs: Annotated[
        int,
        Field(ge=100, description="Simulated runs on each of two datasets: half a minute for 20000."),
        DECLARED,
    ] = 20_000
    confidence: Annotated[
        float, Field(description="Probability that the bound is right, at least 0.95 and below 1."), DECLARED
    ] = 0.95
    seed: Annotated[
        int | None,
        Field(ge=0, description="Repeatable, with seeded noise in place of a real run's."),
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
