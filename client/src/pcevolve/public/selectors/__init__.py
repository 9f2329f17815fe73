"""Methods: how private data choose among candidates. One file for each family; ``public.methods`` lists them.

A family's file has the mechanism (``measure``, the only access to private data, and ``pick``, which is
public), its sensitivity, its worst-case neighbours, what a budget buys (the lift), the defaults and the
printed guarantee. ``method`` defines all of these, ``selection`` a selector's input. ``rounds`` divides a budget,
``planner`` predicts a run's cost and worth, ``choosing`` is the public half that an auditor repeats. Querying
a method or its cost loads NumPy, but neither SciPy nor OpenDP nor PyTorch.
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
    """Methods by name, each imported at first use: a run needs only one."""

    def __init__(self) -> None:
        super().__init__()
        self.data = dict.fromkeys(METHOD_TABLE)  # type: ignore[assignment]

    def __getitem__(self, name: str) -> Method:
        if self.data[name] is None:
            self.data[name] = _load(METHOD_TABLE[name].place)
        return self.data[name]


METHODS: Final = _Methods()
MAX_NOISE_TO_CLIP_RATIO = 0.67
"""Noise on class means, in clip radii per axis, above which they tell less about a class than its prompt does.

On the development data means beat votes at 0.56 (two shots, epsilon 10) and lose with a linear head at 0.84
(ten shots, epsilon 1), measured without a centre at the same budgets.
"""


def find_method(name: str) -> Method:
    """Find a method by its name, or by its name in the paper's tables (else ``UsageError``)."""
    # No user can choose this name: such a run has a command of its own, so it is in no list of methods.
    if name == FROM_RELEASE:
        return _load("control:FOLLOWING")
    # By the own name first: a paper's name for one method must never shadow another method.
    return METHODS[name] if name in METHODS else METHODS[require_method(name, METHODS)]


def list_paid_events(plan: PublicPlan) -> tuple[Event, ...]:
    """Return the events of a whole plan on the private data."""
    # Planned anew instead of read from the plan: a plan states sizes and options, from which the events
    # follow.
    events = find_method(plan.method.name).plan_events(plan)
    return tuple(event for each in events.values() for event in each if not event.free)


def resolve_method(
    name: str, budget: Budget, scope: Scope, appearance: str | None = None
) -> tuple[Method, str]:
    """Find a method by name; for ``auto`` choose one and give the reason. Errors as in ``find_method``.

    Args:
        appearance: The run's appearance mode, which may cost a share of the budget; each method's own if
            None.
    """
    if name != AUTO:
        return find_method(name), ""
    chosen, reason = _choose(budget, scope, appearance)
    return find_method(chosen), reason


def _choose(budget: Budget, scope: Scope, appearance: str | None) -> tuple[str, str]:
    # Pure DP first: there is nothing to compare, because dp-means and pe both need a delta.
    if budget.delta == 0:
        return "jvem", "delta is 0, which rules out Gaussian noise: jvem is the strongest pure method"
    # Public sizes alone decide: a choice by the private images' content would have to be paid for.
    accesses = means.METHOD.accesses(budget, scope, appearance=appearance)
    noise = means.means_noise(first_selection(accesses), scope)
    measured = (
        f"with {scope.shots} shots, the noise on class means would be {noise:.2f} clipping radii per axis"
    )
    if noise > MAX_NOISE_TO_CLIP_RATIO:
        return "pe", f"{measured} and would drown them; votes suffer less"
    return "dp-means", f"{measured}, so the means remain usable; selecting by them costs no further privacy"
