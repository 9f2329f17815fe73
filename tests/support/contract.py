"""The methods that contract tests run over: all in the registry that look at private data, and a toy beside them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

from hypothesis import strategies as st

from pcevolve.public.methods import choose_delta
from pcevolve.public.privacy import Budget, Event, Events, Relation
from pcevolve.public.selectors import METHODS, Method, Scope
from support import toy

CONTRACTED: dict[str, Method] = {
    each.name: each for each in (*METHODS.values(), toy.METHOD) if each.selector is not None
}

SCOPES = st.builds(
    Scope,
    relation=st.sampled_from(["replace-one", "add-remove"]),
    iterations=st.integers(1, 60),
    classes=st.integers(1, 40),
    shots=st.integers(1, 1000),
    candidates=st.integers(1, 2000),
)
"""Public sizes of any run."""


def scope(**changes: object) -> Scope:
    """Sizes of a small run."""
    return replace(Scope("replace-one", iterations=3, classes=2, shots=10, candidates=100), **changes)  # type: ignore[arg-type]


def usual_delta(name: str) -> float:
    """δ of a run by a method of the registry or by another one, which draws by the exponential mechanism."""
    return choose_delta(name) if name in METHODS else 0.0


@cache
def find_payment(name: str, relation: Relation, classes: int, candidates: int) -> Events:
    """Take from a plan what a method's first selection pays with, of a budget of 3."""
    method = CONTRACTED[name]
    scope = Scope(relation, iterations=1, classes=classes, shots=4, candidates=candidates)
    return method.accesses(Budget(Fraction(3), usual_delta(name)), scope, appearance="as-is")[1]


@cache
def event_of(name: str, classes: int) -> Event:
    """One event that pays for one round of a method's selector; means are released at once."""
    return replace(find_payment(name, "replace-one", classes, 5)[-1], parameter="1/2")
