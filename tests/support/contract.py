"""The methods that contract tests run over: all in the registry that look at private data, and a toy beside them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

from pcevolve.privacy import Budget, Event, Events, Relation
from pcevolve.selectors import METHODS, Method, Scope
from support import toy

CONTRACTED: dict[str, Method] = {
    each.name: each for each in (*METHODS.values(), toy.METHOD) if each.selector is not None
}


@cache
def find_payment(name: str, relation: Relation, classes: int, candidates: int) -> Events:
    """Take from a plan what a method's first selection pays with, of a budget of 3."""
    method = CONTRACTED[name]
    scope = Scope(relation, iterations=1, classes=classes, shots=4, candidates=candidates)
    return method.accesses(Budget(Fraction(3), method.delta), scope, appearance="as-is")[1]


@cache
def event_of(name: str, classes: int, candidates: int = 5) -> Event:
    """One event that pays for one round of a method's selector; means are released at once."""
    return replace(find_payment(name, "replace-one", classes, candidates)[-1], parameter="1/2")
