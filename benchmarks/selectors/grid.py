"""Which trials make up the comparison: every ε* at ten shots, and every K at ε* = 10, for every method."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from benchmarks.private_sets import available
from benchmarks.split import LOOKED_AT_ONCE, SETS

NEAREST_MEAN, RANDOM_PHASE = "nearest-mean", "random-phase"
"""Yardsticks that ask no generator; see ``yardsticks``."""
NOISED = "dpimg"
"""Variations of private images under noise on their pixels, less than ``--method dpimg`` puts there; see ``noised``."""


@dataclass(frozen=True)
class Trial:
    """The settings of one run.

    Attributes:
        world: Which private data; see ``world``.
        method: Name of a method, or ``shots`` for training on the private shots themselves, or a yardstick.
        epsilon: ε*.
        delta: δ, where the method has one.
        shots: K.
        candidates: N, the size of the dataset per class.
        seed: Of the shots, the wire and the noise.
        iterations: T; the method's own if None.
        initial: Text-to-image candidates, in multiples of the dataset's size; the method's own if None.
        appearance: ``matched``, ``as-is`` or ``auto``; the method's own if None.
        noise: False for the oracle: the same method without its noise, which protects nobody.
        encoder: Name of the encoder that votes.
    """

    world: str
    method: str
    epsilon: str
    shots: int
    seed: int
    delta: float = 1e-5
    candidates: int = 40
    iterations: int | None = None
    initial: int | None = None
    appearance: str | None = None
    noise: bool = True
    encoder: str = "bundled"

    @property
    def key(self) -> str:
        """Unique name."""
        return "/".join(str(value) for value in dataclasses.astuple(self))


DEVELOPMENT = "digits:3,5,8"
"""Where every ε and every K are tried."""
WORLDS = tuple(SETS)
BY_WEIGHT = tuple(sorted(SETS, key=lambda world: SETS[world].role != LOOKED_AT_ONCE))
"""Those that nothing was chosen on come first."""
EPSILONS = ("1", "2", "4", "8", "10", "20")
SHOTS = (1, 2, 5, 10, 20)
METHODS = ("pcevolve", "pcevolve-gm", "pe", "pe-em", "jvem", "dp-means")
SWEPT = ("dp-means", "pe")
CHOSEN_EPSILON, CHOSEN_SHOTS = "10", 10
PCEVOLVE_ROUNDS = 3
"""PCEvolve's own T = 20 would cost most of the time and split the budget further."""


def trials(grid: str, seeds: int) -> list[Trial]:
    """All trials, the important ones first, so that a run that is cut off has them for every seed."""
    if grid == "small":
        few = ("t2i", "dp-means")
        return [usual(DEVELOPMENT, method, "10", 10, 0, candidates=2) for method in few]
    here, every = [world for world in BY_WEIGHT if available(world)], range(seeds)
    found = [trial for seed in every for world in here for trial in _core(world, seed)]
    found += [trial for seed in every for trial in _sweeps(seed, SWEPT)]
    found += [usual(world, NOISED, CHOSEN_EPSILON, CHOSEN_SHOTS, seed) for seed in every for world in here]
    found += [trial for seed in every for world in here for trial in _ablations(world, seed)]
    found += [trial for seed in every for trial in _sweeps(seed, METHODS)]
    return list(dict.fromkeys(found))


def _core(world: str, seed: int) -> list[Trial]:
    """List the trials to be told apart, at one ε and K: methods in the same appearance, the control, and yardsticks."""
    matched: dict[str, object] = {"appearance": "matched"}
    plain: tuple[str, ...] = ("t2i", "dp-means", "pe", "pcevolve")
    named: list[tuple[str, dict[str, object]]] = [(name, {}) for name in plain]
    named += [(name, matched) for name in ("pe", "pcevolve")]
    named += [(name, {}) for name in ("random", "shots", NEAREST_MEAN, RANDOM_PHASE)]
    return [usual(world, name, CHOSEN_EPSILON, CHOSEN_SHOTS, seed, **more) for name, more in named]


def _ablations(world: str, seed: int) -> list[Trial]:
    """List trials of the default method's parts, and on the development data of all other methods."""
    parts: tuple[dict[str, object], ...] = (
        {"noise": False},
        {"appearance": "as-is"},
        {"appearance": "matched"},
        {"initial": 1, "appearance": "matched"},
    )
    found = [usual(world, "dp-means", CHOSEN_EPSILON, CHOSEN_SHOTS, seed, **part) for part in parts]
    others = METHODS if world == DEVELOPMENT else ()
    return [*found, *(usual(world, each, CHOSEN_EPSILON, CHOSEN_SHOTS, seed) for each in others)]


def _sweeps(seed: int, methods: tuple[str, ...]) -> list[Trial]:
    """Every ε at ten shots, and every K at ε* = 10."""
    found = [
        usual(DEVELOPMENT, each, epsilon, CHOSEN_SHOTS, seed) for epsilon in EPSILONS for each in methods
    ]
    return found + [
        usual(DEVELOPMENT, each, CHOSEN_EPSILON, shots, seed)
        for shots in SHOTS
        for each in (*methods, "shots")
    ]


def usual(world: str, method: str, epsilon: str, shots: int, seed: int, **more: object) -> Trial:
    """A trial as the comparison runs it."""
    few = {"iterations": PCEVOLVE_ROUNDS} if method in ("random", "pcevolve", "pcevolve-gm") else {}
    return Trial(world, method, epsilon, shots, seed, **{**few, **more})  # type: ignore[arg-type]
