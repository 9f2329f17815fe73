"""Cost and expected usefulness of a run, before it begins, for ``pcevolve budget plan`` and ``pcevolve.plan``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from pcevolve.errors import UsageError
from pcevolve.public import methods, settings
from pcevolve.public.config.declared import EXACT, spell
from pcevolve.public.config.options import Setting
from pcevolve.public.figures import (
    describe_guesses,
    format_loss,
    in_full,
    parse_epsilon,
    parse_noise_multiplier,
)
from pcevolve.public.privacy import Budget

if TYPE_CHECKING:
    from pcevolve.public.selectors.planner import BudgetPlan, SecretPlan

DEFAULT_EPSILON = "10"
DECLARED = Setting()
EPSILONS = (1, 4, 10)
"""Values of ε that an outlook compares."""
MORE = (1, 3, 10)
"""Multiples of the shots that an outlook compares."""
SEEN = (
    (0.26, "also similar classes"),
    (0.52, "most classes"),
    (0.68, "clearly different classes"),
)
"""Largest noise at which classes can be told apart, in clip radii on each coordinate of a released class mean.

Two classes can be told apart at a distance of five standard deviations (``public.publish.usefulness``). In
fifteen public sets of images, classes were 1.3 (waste, chest X-rays) to 3.4 radii apart, most of them 2.6
(docs/results/verdict.md).
"""


class PlannedRun(BaseModel):
    """The options of ``budget plan``; options shared with a run are declared with the run's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: Annotated[str, Field(description="Method of the planned run, or auto."), DECLARED]
    epsilon: Annotated[
        str | None,
        EXACT,
        Field(
            description="Total privacy budget (epsilon), > 0. Default: 10, unless --noise-multiplier is "
            "given."
        ),
        DECLARED,
    ] = None
    noise_multiplier: Annotated[
        str | None,
        EXACT,
        Field(
            description="Ratio of the Gaussian noise's standard deviation to the L2 sensitivity, as an "
            "alternative to --epsilon. The resulting epsilon is printed."
        ),
        DECLARED,
    ] = None
    delta: settings.Delta | None = None
    iterations: settings.Iterations | None = None
    classes: Annotated[
        int, Field(ge=1, le=settings.MOST_CLASSES, description="Number of classes, C."), DECLARED
    ] = 2
    shots: settings.Shots = 10
    candidates: settings.Candidates = 100
    relation: settings.Relation = "replace-one"
    calibration: settings.Calibration = "tight"
    appearance: settings.Appearance | None = None
    initial: settings.Initial | None = None
    cells: methods.Cells | None = None
    secret_prior: methods.SecretPrior | None = None
    secret_bound: methods.SecretBound | None = None
    secret_size: methods.SecretSize | None = None

    def require_one_question(self) -> None:
        """Refuse ε together with noise, or noise together with an option that determines it (``UsageError``)."""
        if self.noise_multiplier is None:
            return
        if self.epsilon is not None:
            raise UsageError("--epsilon and --noise-multiplier both set the noise: give only one of them")
        if self.method == "auto" or self.calibration != "tight":
            raise UsageError(
                "--noise-multiplier sets the noise: give the name of a method, and leave --calibration out"
            )


def price(asked: PlannedRun) -> BudgetPlan:
    """Return a run's cost, and why ``auto`` chose the method; ``UsageError`` if the run is impossible."""
    # Imported late, because SciPy takes a second to load and --help does not need it.
    from pcevolve.public.methods import choose_delta
    from pcevolve.public.selectors import Scope, resolve_method
    from pcevolve.public.selectors.planner import plan, plan_for_noise

    asked.require_one_question()
    sizes = Scope(asked.relation, asked.iterations or 1, asked.classes, asked.shots, asked.candidates)
    delta = choose_delta(asked.method) if asked.delta is None else asked.delta
    budget = Budget(parse_epsilon(DEFAULT_EPSILON if asked.epsilon is None else asked.epsilon), delta)
    chosen, reason = resolve_method(asked.method, budget, sizes, asked.appearance)
    scope = replace(sizes, iterations=chosen.iterations(asked.iterations, budget, sizes))
    if asked.appearance == "auto" and chosen.keep != "selected":
        raise UsageError(
            f"--appearance auto needs a method that selects its dataset, and method '{chosen.name}' does "
            "not: give matched or as-is"
        )
    if asked.noise_multiplier is None:
        planned = plan(budget, chosen, scope, asked.calibration, asked.appearance)
    else:
        noise = parse_noise_multiplier(asked.noise_multiplier)
        planned = plan_for_noise(noise, budget.delta, chosen, scope, asked.appearance)
    return replace(planned, reason=reason, secrets=_secrets(asked, planned))


def _secrets(asked: PlannedRun, planned: BudgetPlan) -> SecretPlan | None:
    """Compute the guarantee about declared secrets; None if the method gives no such guarantee."""
    from pcevolve.public.selectors import find_method

    chosen, scope = find_method(planned.method), planned.scope
    if "secret_prior" not in chosen.own_options:
        _require_no_secrets(asked, chosen.name)
        return None
    from pcevolve.keeper.private.secrets import compute_least_share, make_promise
    from pcevolve.public.dp.attacks import protection, secret_budget
    from pcevolve.public.selectors.cells import choose_cells
    from pcevolve.public.selectors.planner import SecretPlan

    promise = make_promise(asked.secret_prior, asked.secret_bound, asked.secret_size)
    event = planned.events[-1]
    mu, share = (
        secret_budget(promise.prior, promise.bound),
        compute_least_share(promise, event, scope.relation),
    )
    initial = asked.initial or chosen.initial_for(scope.candidates, chosen.variations)
    cells = asked.cells or choose_cells(event, scope, share, initial)
    return SecretPlan(promise.prior, promise.bound, promise.most, mu, share, cells, protection(mu))


def _require_no_secrets(asked: PlannedRun, name: str) -> None:
    """Refuse options about secrets and their cells for a method without secrets."""
    for option in ("initial", "cells", "secret_prior", "secret_bound", "secret_size"):
        if getattr(asked, option) is not None:
            raise UsageError(f"{spell(option, PlannedRun)} has no effect with method '{name}'")


ACCOUNTED = {"pure": "pure DP", "zcdp": "zCDP", "rdp": "Rényi DP", "gdp": "Gaussian DP"}
"""Accountants, by their names in a plan."""


def tabulate_plan(planned: BudgetPlan) -> Iterator[tuple[str, str]]:
    """Yield cost and expected usefulness of a run as titles and values of a table."""
    scope = planned.scope
    if planned.reason:
        yield "chosen because", planned.reason
    yield "relation", scope.relation
    sizes = f"{scope.iterations} rounds, {scope.classes} classes, {scope.shots} shots, {scope.candidates} candidates"
    yield "sizes", sizes
    yield "epsilon of one query", format_loss(planned.epsilon_per_query, 4)
    yield "epsilon of the run", f"{format_loss(planned.epsilon_total, 4)} at delta {in_full(planned.delta)}"
    folder = f"{format_loss(planned.epsilon_folder, 4)} for one unit of the folder, which can change two drawn units"
    yield "  if data.subsample is used", folder
    for name, total in planned.totals.items():
        yield f"  by {ACCOUNTED[name]}", "no bound" if total is None else format_loss(total, 4)
    if planned.noise_multiplier is not None:
        yield "noise multiplier", f"{planned.noise_multiplier:.4g}"
        yield "sigma", f"{planned.sigma:.4g} {planned.sigma_unit}"
    best = f"at most {planned.lift_top10:.1%} (10% without any private data)"
    yield "probability that a selected item is among the best tenth", best
    if (secrets := planned.secrets) is not None:
        share = f"at most {secrets.most} texts, each of which counts {secrets.share:.3g} of a vote"
        yield "listed secrets", f"{describe_guesses(secrets.success)}; this counts only this run"
        yield "  if a secret is in", share
        yield "clusters of a class", f"{secrets.cells}"
    if not planned.within_budget:
        yield "fits the budget", "NO: a run with this calibration is refused"


def compare_budgets(classes: int, shots: int) -> Iterator[tuple[str, ...]]:
    """Yield which classes a run could tell apart, with the given and with more shots, at several budgets."""
    for more in MORE:
        yield f"{shots * more}", *(_tell_apart(epsilon, classes, shots * more) for epsilon in EPSILONS)


def releases_means(name: str) -> bool:
    """True if a method releases class means; for ``auto``, True because it may choose such a method."""
    from pcevolve.public.selectors import AUTO, find_method

    return name == AUTO or bool(find_method(name).centre_first)


def _tell_apart(epsilon: int, classes: int, shots: int) -> str:
    """Describe which classes can be told apart despite the noise; computed from public sizes alone."""
    from pcevolve.public.selectors.means import means_noise

    planned = price(PlannedRun(method="auto", epsilon=str(epsilon), classes=classes, shots=shots))
    if not releases_means(planned.method):  # auto chooses class means if their noise hides least
        return "none"
    noise = means_noise(planned.events, planned.scope)
    return next((words for most, words in SEEN if noise <= most), "none")
