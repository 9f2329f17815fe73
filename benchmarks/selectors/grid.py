"""Which trials make up the comparison: every ε* at ten shots, and every K at ε* = 10, for every method."""

from __future__ import annotations

import os

from design import Trial

DATA = "PCEVOLVE_BENCH_DATA"
DEVELOPMENT = "digits:3,5,8"
WORLDS = (
    DEVELOPMENT,
    "digits:0,4,7",
    "marks:3=type A,8=type B",
    "mnist:1,2,6",
    "steel:crazing,patches,scratches",
)
EPSILONS = ("1", "2", "4", "8", "10", "20")
SHOTS = (1, 2, 5, 10, 20)
FREE = ("t2i", "random")
METHODS = ("pcevolve", "pcevolve-gm", "pe", "pe-em", "jvem", "dp-means")
CONTENDERS = ("pcevolve", "pe", "dp-means")
CHOSEN_EPSILON, CHOSEN_SHOTS = "10", 10
PCEVOLVE_ROUNDS = 3
"""PCEvolve's own T = 20 would cost most of the time and splits the budget further; it has a row of its own."""


def trials(grid: str, seeds: int) -> list[Trial]:
    """All trials, those of one seed together, so that a run that is cut off has whole seeds."""
    if grid == "small":
        return [
            _trial(DEVELOPMENT, method, "10", 10, 0, candidates=10)
            for method in ("t2i", "random", "pe", "dp-means")
        ]
    return [trial for seed in range(seeds) for trial in _seed(seed)]


def _seed(seed: int) -> list[Trial]:
    found = [trial for world in WORLDS if available(world) for trial in _headline(world, seed)]
    for epsilon in EPSILONS:
        found += [_trial(DEVELOPMENT, method, epsilon, CHOSEN_SHOTS, seed) for method in METHODS]
    for shots in SHOTS:
        found += [_trial(DEVELOPMENT, method, CHOSEN_EPSILON, shots, seed) for method in CONTENDERS]
        found.append(_trial(DEVELOPMENT, "shots", CHOSEN_EPSILON, shots, seed))
    return list(dict.fromkeys(found))


def _headline(world: str, seed: int) -> list[Trial]:
    """Contenders, controls and oracles on one set of private data."""
    names = ("shots", *FREE, *CONTENDERS)
    found = [_trial(world, method, CHOSEN_EPSILON, CHOSEN_SHOTS, seed) for method in names]
    found += [
        _trial(world, method, CHOSEN_EPSILON, CHOSEN_SHOTS, seed, noise=False)
        for method in ("pe", "dp-means")
    ]
    return found


def _trial(world: str, method: str, epsilon: str, shots: int, seed: int, **more: object) -> Trial:
    few = {"iterations": PCEVOLVE_ROUNDS} if method in ("random", "pcevolve", "pcevolve-gm") else {}
    return Trial(world, method, epsilon, shots, seed, **{**few, **more})  # type: ignore[arg-type]


def available(world: str) -> bool:
    """Whether a world's data are here: some lie in a folder that an environment variable names."""
    return world.partition(":")[0] in ("digits", "marks") or DATA in os.environ
