"""Methods: how private data choose among candidates. One file for each family; ``public.methods`` lists them.

A family's file has the mechanism (``measure``, the only access to private data, and ``pick``, which is public), its
sensitivity, the neighbours that are worst for it, what a budget buys (the lift), the defaults and the printed
guarantee; ``method`` says what all of that is, and ``scene`` what a selector is shown. ``rounds`` divides a budget,
``planner`` says what a run would cost and be worth, ``choosing`` is the public half that an auditor repeats.

To ask what a method is or costs loads NumPy, but neither SciPy nor OpenDP nor PyTorch.
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
from pcevolve.public.selectors.scene import Measurement, PrivateEmbeddings, SelectionInput, Selector

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
    """Methods by name, each imported when it is first asked for: a run needs one."""

    def __init__(self) -> None:
        super().__init__()
        self.data = dict.fromkeys(METHOD_TABLE)  # type: ignore[assignment]

    def __getitem__(self, name: str) -> Method:
        if self.data[name] is None:
            self.data[name] = _load(METHOD_TABLE[name].place)
        return self.data[name]


METHODS: Final = _Methods()
MAX_NOISE_TO_CLIP_RATIO = 0.67
"""Noise on class means, in clip radii of their deviations per axis, beyond which they say less than the prompt does: on
the development data they beat votes at 0.56 (two shots, epsilon 10) and lose with a linear head at 0.84 (ten shots,
epsilon 1), measured without a centre at the same budgets."""


def find_method(name: str) -> Method:
    """Find a method by its name, or by the one that it has in its paper's tables; else ``UsageError``."""
    if name == FROM_RELEASE:
        return _load("control:FOLLOWING")
    return METHODS[name] if name in METHODS else METHODS[require_method(name, METHODS)]


def list_paid_events(plan: PublicPlan) -> tuple[Event, ...]:
    """Return the events of a whole plan on the private data."""
    events = find_method(plan.method.name).plan_events(plan)
    return tuple(event for each in events.values() for event in each if not event.free)


def resolve_method(
    name: str, budget: Budget, scope: Scope, appearance: str | None = None
) -> tuple[Method, str]:
    """A method by name, and why it was chosen if the name is ``auto``; errors as ``find_method``.

    ``appearance`` is what the run's is to be, which may have a price; each method's own if None.
    """
    if name != AUTO:
        return find_method(name), ""
    chosen, reason = _choose(budget, scope, appearance)
    return find_method(chosen), reason


def _choose(budget: Budget, scope: Scope, appearance: str | None) -> tuple[str, str]:
    """The method's name and the reason for it."""
    if budget.delta == 0:
        return "jvem", "delta is 0, which rules out Gaussian noise: jvem is the strongest pure method"
    # Asked by public sizes alone: a method chosen by what the private images are like would have to be paid for.
    accesses = means.METHOD.accesses(budget, scope, appearance=appearance)
    noise = means.means_noise(first_selection(accesses), scope)
    measured = f"noise on class means would be {noise:.2f} clip radii per axis at {scope.shots} shots"
    if noise > MAX_NOISE_TO_CLIP_RATIO:
        return "pe", f"{measured}, which drowns them; votes do less harm"
    return "dp-means", f"{measured}, and one release of them leaves every selection free"
