"""Methods: how private data choose among candidates. Each family has a file; ``public.methods`` lists the methods.

A family's file contains the mechanism, its sensitivity, its worst-case neighbours, what a budget buys (the lift), the
defaults and the printed guarantee. The mechanism consists of ``measure``, the only access to private data, and
``pick``, which is public. ``method`` defines all of these, and ``selection`` defines a selector's input. ``rounds``
divides a budget. ``planner`` predicts what a run costs and how well it can choose. ``choosing`` is the public half of a
selection, which an auditor repeats. Looking up a method or its cost loads NumPy, but not SciPy, OpenDP or PyTorch.
"""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Final

from pcevolve.public.method_names import AUTO, require_method
from pcevolve.public.methods import METHOD_TABLE
from pcevolve.public.plan import FROM_RELEASE, PublicPlan
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.selectors import means
from pcevolve.public.selectors.method import Method, first_selection
from pcevolve.public.selectors.rounds import Scope
from pcevolve.public.selectors.selection import Measurement, PrivateEmbeddings, SelectionInput, Selector

__all__ = [
    "AUTO",
    "METHODS",
    "Measurement",
    "Method",
    "PrivateEmbeddings",
    "Scope",
    "SelectionInput",
    "Selector",
    "find_method",
    "list_paid_events",
    "resolve_method",
]


def _load(place: str) -> Method:
    module, _, name = place.partition(":")
    found: Method = getattr(import_module(f"pcevolve.public.selectors.{module}"), name)
    return found


class _Methods(UserDict[str, Method]):
    """Methods by name. Each is imported at first use, because a run needs only one."""

    def __init__(self) -> None:
        super().__init__()
        self.data = dict.fromkeys(METHOD_TABLE)  # type: ignore[assignment]

    def __getitem__(self, name: str) -> Method:
        if self.data[name] is None:
            self.data[name] = _load(METHOD_TABLE[name].place)
        return self.data[name]


METHODS: Final = _Methods()
MAX_NOISE_TO_CLIP_RATIO = 0.67
"""Largest noise on class means with which ``auto`` selects by means rather than by votes.

The noise is the standard deviation of each coordinate, in clip radii. On the development data, selection by means is
better than by votes at a noise of 0.56 (two shots, epsilon 10). With a linear head it is worse at 0.84 (ten shots,
epsilon 1). Both comparisons were made without a centre and at equal budgets.
"""


def find_method(name: str) -> Method:
    """Find a method by its name, or by its name in the paper's tables (``UsageError`` if there is none)."""
    # Users cannot choose this name: runs from a release have their own command, so no list of methods contains it.
    if name == FROM_RELEASE:
        return _load("control:FOLLOWING")
    # The method's own name is looked up first, so that a paper's name for one method cannot shadow another method.
    return METHODS[name] if name in METHODS else METHODS[require_method(name, METHODS)]


def list_paid_events(plan: PublicPlan) -> tuple[Event, ...]:
    """Return all events of a plan on the private data."""
    # Computed again from the plan's sizes and options, which determine the events.
    events = find_method(plan.method.name).plan_events(plan)
    return tuple(event for each in events.values() for event in each if not event.free)


def resolve_method(
    name: str, budget: Budget, scope: Scope, appearance: str | None = None
) -> tuple[Method, str]:
    """Find a method by name. For ``auto``, choose a method and give the reason. Errors as in ``find_method``.

    Args:
        name: The method's name, or ``auto``.
        appearance: The run's appearance mode, which may cost a share of the budget. With None, each method's
            default applies.
    """
    if name != AUTO:
        return find_method(name), ""
    chosen, reason = _choose(budget, scope, appearance)
    return find_method(chosen), reason


def _choose(budget: Budget, scope: Scope, appearance: str | None) -> tuple[str, str]:
    # At δ = 0 there is nothing to compare, because dp-means and pe both need a δ above 0.
    if budget.delta == 0:
        return (
            "jvem",
            "delta is 0, so Gaussian noise is not possible: jvem is the strongest method without delta",
        )
    # Only public sizes decide. A choice by the content of the private images would cost budget.
    accesses = means.METHOD.accesses(budget, scope, appearance=appearance)
    noise = means.means_noise(first_selection(accesses), scope)
    measured = (
        f"with {scope.shots} shots, the noise on class means would be {noise:.2f} clipping radii per axis"
    )
    if noise > MAX_NOISE_TO_CLIP_RATIO:
        return "pe", f"{measured}, which hides the means; votes suffer less from noise"
    return (
        "dp-means",
        f"{measured}, so the means remain usable; selecting by the means costs no further privacy",
    )
