"""``pcevolve audit-dp``: options, progress and the printed verdict."""

from __future__ import annotations

import json
from itertools import count
from typing import Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from pcevolve.cli.options import Json, drop_unset, takes
from pcevolve.dp_audit.claim import Claim, Verdict
from pcevolve.privacy import Budget
from pcevolve.public import settings
from pcevolve.public.figures import parse_epsilon
from pcevolve.public.options import EXACT, Setting, validate
from pcevolve.session.progress import error_console, show_work, tabulate

DECLARED = Setting()


class AuditedClaim(BaseModel):
    """The claim that ``audit-dp`` puts to the test, and how hard it tries; δ and relation are declared as a run's."""

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
        """The claim, about a method."""
        from pcevolve.selectors import choose_delta

        delta = choose_delta(method) if self.delta is None else self.delta
        budget = Budget(parse_epsilon(self.epsilon), delta)
        return Claim(
            method, budget, self.relation, self.images_per_unit, self.rounds, self.runs, self.confidence
        )


@takes(AuditedClaim)
def audit_dp(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="Whose claim to test: pcevolve, pe, ...")],
    *,
    as_json: Json = False,
    **options: object,
) -> None:
    """Try to tell two neighbouring datasets apart by what a method releases; exit 1 if it leaks more than it claims.

    Reads no private data and spends no budget: the datasets are made up, the mechanisms are those of a real run.
    """
    from pcevolve.dp_audit.audit import audit_method  # SciPy takes a second to load; --help should not

    asked = validate(AuditedClaim, drop_unset(options))
    claim = asked.of(method)
    done = count(1)
    with show_work(error_console(), f"Audit of {method}") as told:
        verdict = audit_method(claim, asked.seed, lambda: told(next(done), 2 * claim.runs))
    _show(verdict, as_json)
    if not verdict.holds:
        raise typer.Exit(1)


def _show(verdict: Verdict, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(verdict.as_dict(), indent=1))
    else:
        Console().print(tabulate("Privacy audit", verdict.as_dict()))
    typer.echo(verdict.sentence, err=True)
