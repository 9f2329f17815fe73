"""``pcevolve budget``: what a run would cost, and what was spent; options and printing only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .errors import UsageError
from .privacy import Budget, Relation
from .settings import default_ledger
from .tables import Json, print_table

if TYPE_CHECKING:
    from .budget.planner import BudgetPlan

budget_app = typer.Typer(
    help="What a run would cost, what was spent, and on which data.", no_args_is_help=True
)
DEFAULT_EPSILON = "10"


@budget_app.command("plan")
def budget_plan(
    method: Annotated[str, typer.Option(help="Method to plan for, or auto.")],
    epsilon: Annotated[
        str | None, typer.Option(help="Total privacy budget, > 0; 10 if neither this nor noise is given.")
    ] = None,
    noise_multiplier: Annotated[
        str | None,
        typer.Option(
            help="Instead of --epsilon: Gaussian noise over L2 sensitivity; prints the epsilon it costs."
        ),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="δ of the guarantee, in [0, 1); the method's own if not given.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Rounds, T; the method's own if not given.")
    ] = None,
    classes: Annotated[int, typer.Option(min=1, max=1000, help="Number of classes, C.")] = 2,
    shots: Annotated[int, typer.Option(min=1, max=1_000_000, help="Private units per class, K.")] = 10,
    candidates: Annotated[int, typer.Option(min=1, max=10_000, help="Candidates per class, N.")] = 100,
    relation: Annotated[Relation, typer.Option(help="Neighbour relation.")] = "replace-one",
    calibration: Annotated[
        Literal["tight", "published"], typer.Option(help="published: the paper's own, where it differs.")
    ] = "tight",
    as_json: Json = False,
) -> None:
    """Print what a run would cost and how much better than luck it would choose; nothing is spent."""
    # SciPy takes a second to load; --help should not
    from .budget.calibration import Scope, parse_epsilon, parse_noise_multiplier
    from .budget.planner import plan, plan_for_noise
    from .methods import resolved

    if epsilon is not None and noise_multiplier is not None:
        raise UsageError("--epsilon and --noise-multiplier say the same thing twice: give one of them")
    if noise_multiplier is not None and (method == "auto" or calibration != "tight"):
        raise UsageError(
            "--noise-multiplier leaves nothing to choose: name a method, and leave --calibration out"
        )
    sizes = Scope(relation, iterations or 1, classes, shots, candidates)
    budget = Budget(parse_epsilon(DEFAULT_EPSILON if epsilon is None else epsilon), _delta(method, delta))
    chosen, reason = resolved(method, budget, sizes)
    scope = replace(sizes, iterations=iterations or chosen.rounds(budget, sizes))
    if noise_multiplier is None:
        planned = plan(budget, chosen, scope, calibration)
    else:
        planned = plan_for_noise(parse_noise_multiplier(noise_multiplier), budget.delta, chosen, scope)
    _show_plan(planned, reason, as_json)


@budget_app.command("show")
def budget_show(
    ledger: Annotated[Path | None, typer.Option(help="Privacy ledger.")] = None,
    as_json: Json = False,
) -> None:
    """List all runs in the ledger and what each has spent."""
    from .budget.ledger import Ledger

    rows = Ledger(ledger or default_ledger(), create=False).runs()
    if as_json:
        typer.echo(json.dumps([row._asdict() for row in rows], indent=1))
        return
    cells = [(row.run_id, row.relation, str(row.units), str(row.draws), f"{row.epsilon:g}") for row in rows]
    print_table("Privacy ledger", ("run", "relation", "privacy units", "draws", "epsilon spent"), cells)


def _delta(method: str, given: float | None) -> float:
    from .budget.calibration import parse_delta
    from .methods import default_delta

    return default_delta(method) if given is None else parse_delta(given)


def _show_plan(planned: BudgetPlan, reason: str, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**planned.as_dict(), "reason": reason}, indent=1))
    else:
        print_table(f"Plan of {planned.method}", ("what", "value"), _plan_rows(planned, reason))
        typer.echo(f"Selection: {planned.verdict}.")


def _plan_rows(planned: BudgetPlan, reason: str) -> Iterator[tuple[str, str]]:
    scope = planned.scope
    if reason:
        yield "chosen because", reason
    yield "relation", scope.relation
    sizes = f"{scope.iterations} rounds, {scope.classes} classes, {scope.shots} shots, {scope.candidates} candidates"
    yield "sizes", sizes
    yield "epsilon of one query", f"{planned.epsilon_per_query:.4g}"
    yield "epsilon of the run", f"{planned.epsilon_total:.4g} at delta {planned.delta:g}"
    for name, total in planned.totals.items():
        yield f"  by {name}", "says nothing" if total is None else f"{total:.4g}"
    if planned.noise_multiplier is not None:
        yield "noise multiplier", f"{planned.noise_multiplier:.4g}"
        yield "sigma", f"{planned.sigma:.4g} {planned.sigma_unit}"
    yield "chance of the best tenth", f"{planned.lift_top10:.1%} at the very best"
    if not planned.within_budget:
        yield "fits the budget", "NO: a run with this calibration is refused"
