"""One trial of the comparison."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

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
