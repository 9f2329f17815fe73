"""Which private sets the library is tried on, and what is compared on each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.selectors.grid import NEAREST_MEAN, RANDOM_PHASE, Trial
from benchmarks.split import LOOKED_AT_ONCE, SETS, PrivateSet
from pcevolve.public.encoders import BUNDLED, JOINED, MOBILENET

SHOTS, CANDIDATES, EPSILON = 10, 20, "10"
TESTED = 200
"""Held-out images of a seed, at most; an accuracy's standard error is then 3.5 % at worst, and seeds average it."""


@dataclass(frozen=True)
class Case:
    """A private set beside the library.

    Attributes:
        world: Its name in ``split.SETS``.
        shown: What the library holds of its domain.
        domain: What the prompt says; empty for the set's own word.
    """

    world: str
    shown: str
    domain: str = ""

    @property
    def kind(self) -> str:
        """Its short name."""
        return self.world.partition(":")[0]

    @property
    def classes(self) -> int:
        """How many there are."""
        return self.world.count(",") + 1

    @property
    def about(self) -> PrivateSet:
        """Title, word and role of the set."""
        return SETS[self.world]

    @property
    def asked(self) -> str:
        """The domain's words in the prompt."""
        return self.domain or self.about.domain


CASES = (
    Case(
        "blood:platelet,red blood cells,single red blood cell,white blood cell",
        "667 other images of its source",
    ),
    Case("xray:normal,pneumonia", "440 other images of its source"),
    Case(
        "steel:crazing,patches,scratches",
        "metals and textures of other sources, 848 that have one of these words",
        "metal texture",
    ),
    Case(
        "malaria:parasitized,uninfected",
        "blood smears of another source: 667, in colour, of another magnification",
    ),
    Case(
        "waste:cardboard,glass bottle,metal can,paper,plastic container",
        "nothing: it knows none of the words and draws from all of its images",
    ),
    Case(
        "leaf:apple scab,black rot,cedar apple rust,healthy",
        "no leaf, but apples in shops: the word is known",
    ),
)


@dataclass(frozen=True)
class Contender:
    """A way to make a training set.

    Attributes:
        name: In the tables.
        method: Of the client, or a yardstick.
        changes: In the method's usual plan; ``initial`` is in multiples of the dataset's size.
        encoder: What selects.
        epsilon: What is paid.
        tuning: Tried on sets alone that may be tuned on.
    """

    name: str
    method: str
    changes: dict[str, Any] = field(default_factory=dict)
    encoder: str = BUNDLED
    epsilon: str = EPSILON
    tuning: bool = False

    def trial(self, case: Case, seed: int) -> Trial:
        """One run of it."""
        return Trial(
            case.world, self.method, self.epsilon, SHOTS, seed, candidates=CANDIDATES, encoder=self.encoder
        )


THREE = {"iterations": 3}
AS_IS = {"appearance": "as-is"}
FALLING = {**AS_IS, **THREE, "strengths": (0.6, 0.5, 0.4)}
SELECT_5, SELECT_7 = "as-is, 5 N", "as-is, 7 N"
ONE_ROUND, THREE_ROUNDS = "as-is, T = 1", "as-is, T = 3"
DEFAULT, T2I = "dp-means", "t2i"
NEVER_SAW = "dp-means, MobileNet selects"
"""Selected by an encoder of photographs, which never saw any of these domains; the bundled one saw some."""
JOINED_SELECTS = "dp-means, joined selects"
SHOTS_THEMSELVES = "ten shots (not private)"
CONTENDERS = (
    Contender(SHOTS_THEMSELVES, "shots"),
    Contender(T2I, "t2i"),
    Contender(DEFAULT, "dp-means"),
    Contender(NEVER_SAW, "dp-means", encoder=MOBILENET),
    Contender(JOINED_SELECTS, "dp-means", encoder=JOINED),
    *(
        Contender(f"{name}, ε = 2", "dp-means", encoder=encoder, epsilon="2")
        for name, encoder in ((DEFAULT, BUNDLED), (NEVER_SAW, MOBILENET), (JOINED_SELECTS, JOINED))
    ),
    Contender("random", "random", THREE),
    Contender("pe", "pe"),
    Contender("pcevolve", "pcevolve", THREE),
    Contender("random-phase", RANDOM_PHASE),
    Contender("nearest released mean, no images", NEAREST_MEAN),
    Contender("as-is, 4 N", "dp-means", AS_IS),
    Contender(SELECT_5, "dp-means", {**AS_IS, "initial": 5}),
    Contender(SELECT_7, "dp-means", {**AS_IS, "initial": 7}),
    Contender(ONE_ROUND, "dp-means", {**AS_IS, "iterations": 1, "strengths": (0.6,)}),
    Contender(THREE_ROUNDS, "dp-means", FALLING),
    Contender(
        "T = 3, nearer: 0.4 to 0.2", "dp-means", {**FALLING, "strengths": (0.4, 0.3, 0.2)}, tuning=True
    ),
    Contender(
        "T = 3, farther: 0.9 to 0.7", "dp-means", {**FALLING, "strengths": (0.9, 0.8, 0.7)}, tuning=True
    ),
    Contender("T = 3, 2 prototypes", "dp-means", {**FALLING, "prototypes": 2}, tuning=True),
    Contender("T = 3, latest pool", "dp-means", {**FALLING, "pool": "latest"}, tuning=True),
)
BY_NAME = {each.name: each for each in CONTENDERS}
PIXELS = (SHOTS_THEMSELVES, T2I, DEFAULT, NEVER_SAW, "pe")
"""Those that the network from scratch judges, too: a training costs it as much as ten runs of a client."""

Wanted = tuple[int, Case, Contender]


def list_trials(seeds: int) -> Iterator[Wanted]:
    """All trials, a seed after the other, so that a run that is cut off has them for every set."""
    for seed in range(seeds):
        for case in CASES:
            for contender in CONTENDERS:
                if not (contender.tuning and case.about.role == LOOKED_AT_ONCE):
                    yield seed, case, contender


def by_pixels(seeds: int) -> Iterator[Wanted]:
    """Those that the network from scratch judges."""
    return (each for each in list_trials(seeds) if each[2].name in PIXELS)
