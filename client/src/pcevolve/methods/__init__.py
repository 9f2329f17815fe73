"""The published methods and ours, one file each; every one a short composition of shared parts.

``method`` says what a method is, ``rounds`` and ``appearance`` what it does to private data for a budget, ``lift`` what
that is worth, and ``planner`` what a run would cost. Public numbers only.

May import ``dp``, ``public`` and ``privacy``. Imported by ``audit``, ``benchmarks``, ``cli``, ``dp_audit``, ``pages``,
``publish`` and ``run``. Only what computes a lift or calibrates Gaussian noise loads SciPy.
"""

from __future__ import annotations

from pcevolve.errors import UsageError
from pcevolve.methods import (
    aug_pe,
    auto,
    dp_means,
    jvem,
    pcevolve,
    pe,
    random,
    secpe,
    t2i,
)
from pcevolve.methods.method import Method
from pcevolve.methods.rounds import Scope
from pcevolve.privacy import Budget

__all__ = ["AUTO", "METHODS", "Method", "Scope", "default_delta", "method", "resolved"]

METHODS: dict[str, Method] = {
    each.name: each
    for each in (
        aug_pe.METHOD,
        dp_means.METHOD,
        jvem.METHOD,
        pcevolve.METHOD,
        pe.METHOD,
        pe.EXPONENTIAL,
        random.METHOD,
        secpe.METHOD,
        t2i.METHOD,
    )
}
ALIASES = {"b": "t2i"}
"""What the papers call methods that have a name of their own here."""
ELSEWHERE = {
    "init": "the untrained head is a row of the tables of 'pcevolve-bench table'",
    "private": "the private images themselves are judged by 'pcevolve evaluate' with --mix",
    "dp-means-classifier": "every run of dp-means releases it: 'pcevolve classify RUN IMAGES' applies it, and a table "
    "of 'pcevolve-bench table' has it as a row",
}
"""Rows of the papers' tables that make no dataset, and where to find them."""
AUTO = "auto"
AUTO_DELTA = 1e-5


def method(name: str) -> Method:
    """Find a method by its name, or by the one that it has in its paper's tables.

    Raises:
        UsageError: No such method.
    """
    name = ALIASES.get(name, name)
    if name in ELSEWHERE:
        raise UsageError(f"'{name}' makes no dataset, so it is no method: {ELSEWHERE[name]}")
    if name == AUTO:
        raise UsageError(
            "auto is not a method but chooses one by public sizes: name the one that it would take"
        )
    if name not in METHODS:
        raise UsageError(f"unknown method '{name}': choose one of {', '.join(sorted([*METHODS, AUTO]))}")
    return METHODS[name]


def resolved(name: str, budget: Budget, scope: Scope) -> tuple[Method, str]:
    """A method by name, and why it was chosen if the name is ``auto``.

    Raises:
        UsageError: No such method.
    """
    if name != AUTO:
        return method(name), ""
    chosen, reason = auto.choose(budget, scope)
    return method(chosen), reason


def default_delta(name: str) -> float:
    """δ of a run whose user names none.

    Raises:
        UsageError: No such method.
    """
    return AUTO_DELTA if name == AUTO else method(name).delta
