"""The published methods and ours, one file each; every one a short composition of shared parts.

``method`` says what a method is, ``rounds`` and ``appearance`` what it does to private data for a budget, ``lift`` what
that is worth, and ``planner`` what a run would cost. Public numbers only.

May import ``dp``, ``public`` and ``privacy``. Imported by ``audit``, ``bench``, ``cli``, ``dp_audit``, ``pages``,
``publish`` and ``run``. Only what computes a lift or calibrates Gaussian noise loads SciPy.
"""

from __future__ import annotations

from pcevolve.errors import UsageError
from pcevolve.methods import (
    aug_pe,
    auto,
    dp_means,
    dpimg,
    jvem,
    le,
    pcevolve,
    pcevolve_gm,
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
        dpimg.METHOD,
        jvem.METHOD,
        le.METHOD,
        pcevolve.METHOD,
        pcevolve.PERMUTE_AND_FLIP,
        *pcevolve.ABLATIONS,
        pcevolve_gm.METHOD,
        pe.METHOD,
        pe.EXPONENTIAL,
        random.METHOD,
        secpe.METHOD,
        t2i.METHOD,
    )
}
AUTO = "auto"
AUTO_DELTA = 1e-5


def method(name: str) -> Method:
    """Find a method by name.

    Raises:
        UsageError: No such method.
    """
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
