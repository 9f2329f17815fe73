"""``pcevolve audit-dp``: options, progress and the printed verdict."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pcevolve.cli.options import Json, given_options, takes
from pcevolve.dp_audit.claim import Claim, Verdict
from pcevolve.privacy import Budget
from pcevolve.public import settings
from pcevolve.public.figures import parse_epsilon
from pcevolve.public.options import EXACT, Setting, validate

LINE_SECONDS = 10.0
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
        """The claim, about a method.

        Raises:
            UsageError: There is no such method, or the claim cannot be tested.
        """
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

    asked = validate(AuditedClaim, given_options(options))
    claim = asked.of(method)
    with _progress(f"Audit of {method}", 2 * claim.runs) as tick:
        verdict = audit_method(claim, asked.seed, tick)
    _show(verdict, as_json)
    if not verdict.holds:
        raise typer.Exit(1)


def _show(verdict: Verdict, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(verdict.as_dict(), indent=1))
    else:
        from pcevolve.session.progress import facts

        Console().print(facts("Privacy audit", verdict.as_dict()))
    typer.echo(verdict.sentence, err=True)


@contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar with ETA on stderr; in a log file, a line every ten seconds."""
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("ETA"), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        started = said = time.monotonic()
        done = 0

        def tick() -> None:
            nonlocal done, said
            done += 1
            bar.advance(task)
            now = time.monotonic()
            if not console.is_terminal and now - said > LINE_SECONDS:
                said, left = now, (now - started) / done * (total - done)
                console.print(f"{title}: {done}/{total} simulated runs, about {left:.0f} s left")

        yield tick
