"""Remedies for a run whose classes do not match ``--shots`` or ``data.subsample``; for the owner alone."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from pcevolve.errors import DataError
from pcevolve.keeper.private_data import Shots, tell_on_screen
from pcevolve.public.config.config import RunConfig
from pcevolve.public.config.options import advise, spell_flag
from pcevolve.public.dialects import find_abilities
from pcevolve.public.figures import parse_epsilon
from pcevolve.public.methods import choose_delta
from pcevolve.public.privacy import Budget
from pcevolve.public.publish.loss import PrivacyLoss
from pcevolve.public.selectors import Scope, resolve_method
from pcevolve.public.selectors.planner import plan

OF_ROSTER = "the roster's shots"
"""Name of the number of units in messages of a run of several owners, where no option sets the number."""


def refuse_shots(settings: RunConfig, shots: Shots, unit: str, drawable: Mapping[str, int]) -> NoReturn:
    """Refuse classes whose sizes differ from the declared size (``DataError``); show remedies on the owner's screen."""
    price, named = partial(price_subsample, settings, len(shots.held)), spell_flag("shots")
    held = f"your classes hold {describe_counts(shots)} {unit} each, but {named} is {shots.declared}"
    if named == OF_ROSTER:
        tell_on_screen(f"{held}: agree with the other owners on another number")
    else:
        offers = list_offers(shots, min(drawable.values()), price)
        tell_on_screen(f"{held}; give", *(f"  {offer}" for offer in offers))
    raise DataError(
        f"the class sizes are too far from {named} {shots.declared}, so the released means would be "
        f"biased; nothing was spent or sent{_advise_check(settings)}"
    )


def tell_drawable(settings: RunConfig, counts: Mapping[str, int], unit: str) -> None:
    """Tell the owner that classes have too few units for the subsample; the caller then refuses."""
    shots = Shots(counts, settings.data.shots)
    if shots.fewest < settings.data.shots:
        instead = (
            f"--set data.subsample={shots.fewest} draws them all" if shots.fewest else "none can be drawn"
        )
        tell_on_screen(
            f"your classes have {describe_counts(shots)} {unit} each to draw from, but data.subsample is "
            f"{settings.data.shots}: {instead}; a unit of several classes counts in only one of them"
        )


def describe_counts(shots: Shots) -> str:
    """Describe the number of units per class."""
    first = {number: label for label, number in reversed([*shots.held.items()])}
    fewest, most = shots.fewest, shots.most
    return f"{most}" if fewest == most else f"{fewest} ({first[fewest]}) to {most} ({first[most]})"


def list_offers(shots: Shots, drawable: int, price: Callable[[int], str]) -> list[str]:
    """List options that would help, each with its effect.

    Args:
        drawable: Number of units of each class that ``data.subsample`` could draw, each counted for one
            class; private.
        price: Describes the cost of a subsample with a given number of units per class.
    """
    drawn = min(shots.declared, drawable)
    offers = []
    if shots.even:
        offers.append(
            f"{advise('shots', (shots.fewest + shots.most) // 2)}: uses all units; the number becomes public"
        )
    else:
        offers.append(
            f"{advise('method', 'pe')} {advise('class_counts', True, 'method.class_counts')}: uses all "
            "units; noisy class sizes are released"
        )
    if 0 < drawn < shots.most:
        offers.append(
            f"{advise('subsample', drawn, 'data.subsample')}: uses {drawn} units per class, drawn at "
            f"random, at {price(drawn)}; {advise('test', 'rest')} tests on the others"
        )
    return offers


def price_subsample(settings: RunConfig, classes: int, shots: int) -> str:
    """Describe the cost of a run on a subsample with this number of units per class."""
    own, delta = settings.method, settings.privacy.delta
    budget = Budget(
        parse_epsilon(settings.privacy.epsilon), choose_delta(own.name) if delta is None else delta
    )
    scope = Scope(settings.privacy.relation, own.iterations or 1, classes, shots, own.candidates)
    method, _ = resolve_method(own.name, budget, scope, None)
    scope = replace(scope, iterations=method.iterations(own.iterations, budget, scope))
    planned = plan(budget, method, scope, own.calibration)
    return PrivacyLoss(planned.epsilon_folder, planned.epsilon_total, "unit").say()


def _advise_check(settings: RunConfig) -> str:
    """Name the command that inspects a folder or a table; empty for bundled data."""
    if not Path(settings.data.private).exists():
        return ""
    chosen = settings.provider.dialect
    usual = type(settings.provider).model_fields["dialect"].default
    is_usual = find_abilities(chosen).makes == find_abilities(usual).makes
    more = "" if is_usual else f" --dialect {chosen}"
    return f"; for details: pcevolve check {shlex.quote(settings.data.private)}{more}"
